// A pen that creates SVG elements, with those methods of a canvas context that the page uses.
import { svgElement } from "./dom.js";

const number = (value) => String(Number(value.toFixed(2)));
const DEFAULTS = { strokeStyle: "none", fillStyle: "none", lineWidth: 1, globalAlpha: 1, lineJoin: "miter", font: "", dash: [] };

export class SvgPen {
  constructor(root) {
    Object.assign(this, DEFAULTS, { group: root, kept: [], path: "", clips: 0 });
  }

  // Put everything that `act` draws into a group with the given attributes, such as a translation.
  within(attributes, act) {
    const outer = this.group;
    this.group = svgElement("g", attributes);
    outer.append(this.group);
    act();
    this.group = outer;
  }

  add(tag, attributes) {
    const made = svgElement(tag, attributes);
    this.group.append(made);
    return made;
  }

  save() {
    const { strokeStyle, fillStyle, lineWidth, globalAlpha, lineJoin, font, dash, group } = this;
    this.kept.push({ strokeStyle, fillStyle, lineWidth, globalAlpha, lineJoin, font, dash, group });
  }

  restore() {
    Object.assign(this, this.kept.pop());
  }

  clip() {
    const id = `clip-${Math.random().toString(36).slice(2)}`;
    this.add("clipPath", { id }).append(svgElement("path", { d: this.path }));
    const inner = svgElement("g", { "clip-path": `url(#${id})` });
    this.group.append(inner);
    this.group = inner;
  }

  setLineDash(dash) {
    this.dash = dash;
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${number(x)} ${number(y)}`;
  }

  lineTo(x, y) {
    this.path += `${this.path === "" ? "M" : "L"}${number(x)} ${number(y)}`;
  }

  closePath() {
    this.path += "Z";
  }

  // Add a line to the start of the arc, and then the arc, as a canvas does. By default, the arc is drawn clockwise.
  arc(x, y, radius, from, to, anticlockwise = false) {
    const at = (angle) => [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
    const turn = 2 * Math.PI;
    const way = anticlockwise ? from - to : to - from;
    const angle = Math.abs(way) >= turn ? turn : ((way % turn) + turn) % turn;
    const sign = anticlockwise ? -1 : 1;
    this.lineTo(...at(from));
    // Draw two halves, because a single SVG arc cannot be a whole circle.
    for (const share of [0.5, 1]) {
      const [ex, ey] = at(from + sign * share * angle);
      this.path += `A${number(radius)} ${number(radius)} 0 0 ${anticlockwise ? 0 : 1} ${number(ex)} ${number(ey)}`;
    }
  }

  stroke() {
    const { strokeStyle, lineWidth, globalAlpha, lineJoin, dash } = this;
    const drawn = { d: this.path, fill: "none", stroke: strokeStyle, "stroke-width": lineWidth, "stroke-linejoin": lineJoin, opacity: globalAlpha };
    this.add("path", dash.length ? { ...drawn, "stroke-dasharray": dash.join(" ") } : drawn);
  }

  fill() {
    this.add("path", { d: this.path, fill: this.fillStyle, opacity: this.globalAlpha });
  }

  fillText(text, x, y) {
    this.text(text, x, y, { fill: this.fillStyle });
  }

  strokeText(text, x, y) {
    this.text(text, x, y, { fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth, "stroke-linejoin": "round" });
  }

  text(text, x, y, attributes) {
    this.add("text", { x: number(x), y: number(y), style: `font:${this.font}`, ...attributes }).textContent = legible(text);
  }
}

// Remove characters that are not allowed in XML.
function legible(text) {
  return text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "");
}
