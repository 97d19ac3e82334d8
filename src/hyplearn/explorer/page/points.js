// The points of the page, which are decoded once and whose positions in the view are computed for every frame.
import { gap } from "./geometry.js";

const TYPES = { Float64Array, Float32Array, Uint32Array, Uint16Array, Uint8Array };

export function decoded(array) {
  const text = atob(array.base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new TYPES[array.type](bytes.buffer);
}

export const optional = (array) => (array === null ? null : decoded(array));

export class Points {
  constructor(x, y) {
    this.n = x.length;
    this.x = x;
    this.y = y;
    this.gap = x.map((value, i) => gap(value, y[i]));
    // Positions in the disk as it is seen (u, v), and the gaps at these positions.
    this.u = new Float64Array(this.n);
    this.v = new Float64Array(this.n);
    this.seenGap = new Float64Array(this.n);
  }

  static of({ x, y }) {
    return new Points(decoded(x), decoded(y));
  }

  // Return a copy of some of the points. It is faster to move, because the points are contiguous in memory.
  sample(rows) {
    return new Points(Float64Array.from(rows, (i) => this.x[i]), Float64Array.from(rows, (i) => this.y[i]));
  }

  // Compute the positions in the view, as geometry.seenFrom does, for the points from..to. The gap at a position is the
  // gap of the point times the gap of the centre, divided by `below`.
  moveInto(view, from = 0, to = this.n) {
    const [px, py] = view.centre;
    const a = view.gap;
    for (let i = from; i < to; i++) {
      const sx = this.x[i] - px;
      const sy = this.y[i] - py;
      const square = sx * sx + sy * sy;
      const both = a * this.gap[i];
      const below = both + square;
      this.u[i] = (a * sx - square * px) / below;
      this.v[i] = (a * sy - square * py) / below;
      this.seenGap[i] = both / below;
    }
  }

  at(i) {
    return [this.x[i], this.y[i]];
  }

  seen(i) {
    return [this.u[i], this.v[i]];
  }

  // Return the shown point that is nearest to a position in the disk, or -1 if none is within the distance `reach`.
  nearest(at, reach, shown) {
    let best = -1;
    let least = reach * reach;
    for (let i = 0; i < this.n; i++) {
      const du = this.u[i] - at[0];
      const dv = this.v[i] - at[1];
      if (shown[i] && du * du + dv * dv < least) {
        least = du * du + dv * dv;
        best = i;
      }
    }
    return best;
  }
}

// Return the numbers below n in a pseudo-random order, which is always the same. The first numbers are a random sample.
export function scattered(n) {
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  let seed = 1;
  for (let i = n - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = seed % (i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
