// Encode the view and the selection in the URL, and keep a history of earlier ones.
import { readRuns } from "./runs.js";

// Maximum number of characters of a selection in the URL. Mail and chat programs cut longer links. This is enough for
// about 2,000 scattered points, or for any number of points in a few runs.
export const MOST_LETTERS = 6000;

const numbers = (text) => text.split(",").map(Number);
const isPair = (pair) => pair.length === 2 && pair.every(Number.isFinite);

// Encode a view as text. Numbers are written with all digits, because the last digits matter near the rim.
export function textOf({ centre, zoom, shift, colour, hidden, onlyWrong, onlyDisagreement, mostConfidence }) {
  const parts = [["centre", centre.join(",")], ["zoom", String(zoom)], ["colour", colour]];
  if (shift.some((value) => value !== 0)) parts.push(["shift", shift.join(",")]);
  if (hidden.length) parts.push(["hidden", hidden.join(",")]);
  if (onlyWrong) parts.push(["wrong", "1"]);
  if (onlyDisagreement) parts.push(["disagree", "1"]);
  if (mostConfidence < 1) parts.push(["unsure", String(mostConfidence)]);
  return new URLSearchParams(parts).toString().replaceAll("%2C", ",");
}

// Decode a view from the text of a URL, which may have been written by anyone. Invalid values are replaced with
// defaults; the result is null if there is no valid centre.
export function readText(text, { keys, nClasses, nPoints, mostZoom }) {
  const given = new URLSearchParams(text);
  const centre = numbers(given.get("centre") ?? "");
  if (!isPair(centre) || !(Math.hypot(...centre) < 1)) return null;
  const zoom = Number(given.get("zoom") ?? 1);
  const shift = numbers(given.get("shift") ?? "0,0");
  const unsure = Number(given.get("unsure") ?? 1);
  const isCode = (code) => Number.isInteger(code) && code >= 0 && code < nClasses;
  return {
    centre,
    zoom: zoom >= 1 && zoom <= mostZoom ? zoom : 1,
    shift: isPair(shift) ? shift : [0, 0],
    colour: keys.includes(given.get("colour")) ? given.get("colour") : keys[0],
    hidden: given.has("hidden") ? numbers(given.get("hidden")).filter(isCode) : [],
    onlyWrong: given.get("wrong") === "1",
    onlyDisagreement: given.get("disagree") === "1",
    mostConfidence: unsure >= 0 && unsure < 1 ? unsure : 1,
    selected: given.has("selected") ? readRuns(given.get("selected"), nPoints) : null,
  };
}

// Put the view into the URL. This is not possible inside the frame of a notebook.
export function writeAddress(text) {
  if (window.location.protocol === "about:") return;
  window.history.replaceState(null, "", `#${text}`);
}

// Maximum number of steps that can be undone.
const MOST_KEPT = 200;

// History of views, each with its selection, and the position of the current view in it.
export class Past {
  constructor() {
    this.steps = [];
    this.at = -1;
  }

  // Add a view and its selection, both as text, unless they are the current ones.
  note(view, selected) {
    const now = this.steps[this.at];
    if (now?.view === view && now.selected === selected) return;
    this.steps = [...this.steps.slice(0, this.at + 1), { view, selected }].slice(-MOST_KEPT);
    this.at = this.steps.length - 1;
  }

  get canUndo() {
    return this.at > 0;
  }

  get canRedo() {
    return this.at < this.steps.length - 1;
  }

  // Go the given number of steps forwards (or backwards if negative), and return the view there.
  step(many) {
    this.at = Math.min(this.steps.length - 1, Math.max(0, this.at + many));
    return this.steps[this.at];
  }
}

// Return the text of a view with a selection, which contains no characters that need escaping.
export function withSelected(view, selected) {
  return `${view}&selected=${selected}`;
}
