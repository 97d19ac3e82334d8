// The view and the selection as text for the address, and those before them.
import { readRuns } from "./runs.js";

// Letters of a selection in the address. Longer ones would make links that mail and chat programs cut; a selection of
// about 2,000 points in no order, or of any number in a few runs, is shorter.
export const MOST_LETTERS = 6000;

const numbers = (text) => text.split(",").map(Number);
const isPair = (pair) => pair.length === 2 && pair.every(Number.isFinite);

// Numbers are written with all their digits: near the rim the last ones matter.
export function textOf({ centre, zoom, shift, colour, hidden, onlyWrong, onlyDisagreement, mostConfidence }) {
  const parts = [["centre", centre.join(",")], ["zoom", String(zoom)], ["colour", colour]];
  if (shift.some((value) => value !== 0)) parts.push(["shift", shift.join(",")]);
  if (hidden.length) parts.push(["hidden", hidden.join(",")]);
  if (onlyWrong) parts.push(["wrong", "1"]);
  if (onlyDisagreement) parts.push(["disagree", "1"]);
  if (mostConfidence < 1) parts.push(["unsure", String(mostConfidence)]);
  return new URLSearchParams(parts).toString().replaceAll("%2C", ",");
}

// What an address says, as far as it can be read; anyone may have written it.
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

// Put the view into the address, where a page may: not inside the frame of a notebook.
export function writeAddress(text) {
  if (window.location.protocol === "about:") return;
  window.history.replaceState(null, "", `#${text}`);
}

const MOST_KEPT = 200;

// Views, each with what was selected there, and the present one among them.
export class Past {
  constructor() {
    this.steps = [];
    this.at = -1;
  }

  // Both are texts; the same selection is kept once, however many views it has.
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

  // The one that many steps away, which becomes the present one.
  step(many) {
    this.at = Math.min(this.steps.length - 1, Math.max(0, this.at + many));
    return this.steps[this.at];
  }
}

// The address of a view with a selection, which needs no escapes.
export function withSelected(view, selected) {
  return `${view}&selected=${selected}`;
}
