// Where the disk is on the screen, and which point of it stands in the middle. Three kinds of coordinates:
// data (the unit disk as it came), disk (as it is seen, after the translation), screen (CSS pixels, y downwards).
import { centreThatShows, gap, mobiusAdd, seenFrom, within } from "./geometry.js";

// Beyond this radius float64 itself has few points left; hyperbolic distance 30.
const FARTHEST_CENTRE = Math.tanh(15);
// A point cannot be dragged onto the rim, where it would be infinitely far.
const NEAREST_TO_RIM = 0.97;
export const MOST_ZOOM = 64;
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

  // The same view in a rectangle of another size.
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

  // Bring a point of the data to a place on the screen: the hyperbolic pan.
  show(x, at) {
    this.moveTo(centreThatShows(x, within(this.screenToDisk(at), NEAREST_TO_RIM)));
  }

  moveTo(x) {
    this.centre = within(x, FARTHEST_CENTRE);
  }

  // Walk a hyperbolic distance to the right and upwards.
  walk(right, up) {
    const length = Math.hypot(right, up);
    const step = Math.tanh(length / 2) / length;
    this.moveTo(mobiusAdd(this.centre, [right * step, up * step]));
  }

  // Zoom so that what is at that place of the screen stays there.
  zoomAt(factor, at) {
    const v = this.screenToDisk(at);
    this.zoom = Math.min(MOST_ZOOM, Math.max(1, this.zoom * factor));
    const reach = this.zoom - 1;
    const held = [at[0] - this.scale * v[0] - this.width / 2, at[1] + this.scale * v[1] - this.height / 2];
    this.shift = held.map((value) => Math.min(reach, Math.max(-reach, value / this.radius)));
  }

  // The gap of the centre, for many points at once.
  get gap() {
    return gap(...this.centre);
  }
}
