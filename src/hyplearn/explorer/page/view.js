// The view: position and size of the disk on the screen, and the point at its centre. There are three coordinate
// systems: data (the unit disk of the scene), disk (the unit disk after the translation) and screen (CSS pixels, y
// downwards).
import { centreThatShows, gap, mobiusAdd, seenFrom, within } from "./geometry.js";

// Maximum radius of the centre, at the hyperbolic distance 30. Beyond it, float64 can represent few points.
const FARTHEST_CENTRE = Math.tanh(15);
// Maximum radius to which a point can be dragged, because the rim is infinitely far away.
const NEAREST_TO_RIM = 0.97;
export const MOST_ZOOM = 64;
// Space around the disk in pixels.
const MARGIN = 14;

export class View {
  constructor() {
    this.reset();
    this.resize(1, 1);
  }

  reset() {
    this.centre = [0, 0];
    this.zoom = 1;
    this.shift = [0, 0];
  }

  resize(width, height) {
    this.width = width;
    this.height = height;
    this.radius = Math.max(20, Math.min(width, height) / 2 - MARGIN);
  }

  // Return the same view for a rectangle of another size.
  resized(width, height) {
    const other = Object.assign(new View(), { centre: this.centre, zoom: this.zoom, shift: this.shift });
    other.resize(width, height);
    return other;
  }

  get scale() {
    return this.radius * this.zoom;
  }

  get middle() {
    return [this.width / 2 + this.shift[0] * this.radius, this.height / 2 + this.shift[1] * this.radius];
  }

  diskToScreen(v) {
    const [x, y] = this.middle;
    return [x + this.scale * v[0], y - this.scale * v[1]];
  }

  screenToDisk(at) {
    const [x, y] = this.middle;
    return [(at[0] - x) / this.scale, (y - at[1]) / this.scale];
  }

  dataToScreen(x) {
    return this.diskToScreen(seenFrom(this.centre, x));
  }

  diskToData(v) {
    return mobiusAdd(this.centre, v);
  }

  screenToData(at) {
    return this.diskToData(within(this.screenToDisk(at), NEAREST_TO_RIM));
  }

  isInside(at) {
    return Math.hypot(...this.screenToDisk(at)) < 1;
  }

  // Translate the disk so that a data point appears at a position on the screen.
  show(x, at) {
    this.moveTo(centreThatShows(x, within(this.screenToDisk(at), NEAREST_TO_RIM)));
  }

  moveTo(x) {
    this.centre = within(x, FARTHEST_CENTRE);
  }

  // Move the centre by hyperbolic distances to the right and upwards.
  walk(right, up) {
    const length = Math.hypot(right, up);
    const step = Math.tanh(length / 2) / length;
    this.moveTo(mobiusAdd(this.centre, [right * step, up * step]));
  }

  // Zoom by a factor, and keep the given position of the screen fixed.
  zoomAt(factor, at) {
    const v = this.screenToDisk(at);
    this.zoom = Math.min(MOST_ZOOM, Math.max(1, this.zoom * factor));
    const reach = this.zoom - 1;
    const held = [at[0] - this.scale * v[0] - this.width / 2, at[1] + this.scale * v[1] - this.height / 2];
    this.shift = held.map((value) => Math.min(reach, Math.max(-reach, value / this.radius)));
  }

  // The gap of the centre.
  get gap() {
    return gap(...this.centre);
  }
}
