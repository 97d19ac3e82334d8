// Create elements of the page from strings that are never parsed as HTML.
import { cssOf } from "./colours.js";
import { outlineOf } from "./shapes.js";

export const byId = (id) => document.getElementById(id);

export function element(tag, { text, ...attributes } = {}, ...children) {
  return filled(document.createElement(tag), text, attributes, children);
}

export function svgElement(tag, { text, ...attributes } = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), text, attributes, children);
}

function filled(made, text, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

// Return an SVG image of a marker that looks like the marker in the disk.
export function swatch({ colour, shape }) {
  const outline = outlineOf(shape);
  const fill = cssOf(colour);
  const mark = outline === null
    ? svgElement("circle", { r: "5", fill })
    : svgElement("polygon", { points: outline.map(([x, y]) => `${(5 * x).toFixed(2)},${(5 * y).toFixed(2)}`).join(" "), fill });
  return svgElement("svg", { class: "swatch", viewBox: "-8 -8 16 16", "aria-hidden": "true" }, mark);
}

export function percent(share) {
  if (share === 0 || share === 1) return `${100 * share} %`;
  if (share < 0.00005) return "< 0.01 %";
  if (share > 0.99995) return "> 99.99 %";
  return `${(100 * share).toFixed(share > 0.999 || share < 0.001 ? 2 : 1)} %`;
}

export const grouped = (number) => number.toLocaleString("en");
export const counted = (number, thing) => `${grouped(number)} ${thing}${number === 1 ? "" : "s"}`;

// Format a number with four significant digits, for colour bars and cards.
export function short(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "missing";
}

// Offer a file for download.
export function download(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
