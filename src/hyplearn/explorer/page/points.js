// The points: decoded once, moved into view at every frame.
import { gap } from "./geometry.js";

export function decoded(array) {
  const text = atob(array.base64);
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  return new { Float64Array, Float32Array, Uint32Array, Uint16Array }[array.type](bytes.buffer);
}

export class Points {
  constructor(x, y) {
    this.n = x.length;
    this.x = x;
    this.y = y;
    this.gap = x.map((value, i) => gap(value, y[i]));
    // Where they are seen, in the disk, and their gap there.
    this.u = new Float64Array(this.n);
    this.v = new Float64Array(this.n);
    this.seenGap = new Float64Array(this.n);
  }

  // As geometry.seenFrom, for all points. The gap as seen is that of the points times that of the centre, over D.
  moveInto(view) {
    const [px, py] = view.centre;
    const a = view.gap;
    for (let i = 0; i < this.n; i++) {
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

  // The shown point nearest to a place of the disk, no farther than the reach; -1 if there is none.
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
