// The selected points.
import { runsOf } from "./runs.js";
import { isInside } from "./shapes.js";

export class Selection {
  constructor(n) {
    this.mask = new Uint8Array(n);
    this.size = 0;
    this.noted = null;
  }

  // The selection as a string, which is cached until the selection changes.
  get text() {
    return (this.noted ??= runsOf(this.mask));
  }

  // Change the selection: the points for which isMeant(i) is true replace it, are added to it, or are removed from it.
  change(isMeant, how) {
    const { mask } = this;
    this.noted = null;
    this.size = 0;
    for (let i = 0; i < mask.length; i++) {
      const meant = isMeant(i);
      if (how === "replace") mask[i] = meant ? 1 : 0;
      else if (meant) mask[i] = how === "add" ? 1 : 0;
      this.size += mask[i];
    }
  }

  set(indices) {
    this.noted = null;
    this.mask.fill(0);
    for (const i of indices) if (i < this.mask.length) this.mask[i] = 1;
    this.size = this.mask.reduce((sum, value) => sum + value, 0);
  }

  toggle(i) {
    this.noted = null;
    this.mask[i] ^= 1;
    this.size += this.mask[i] ? 1 : -1;
  }

  // Select the shown points that were not selected.
  invert(shown) {
    this.change((i) => shown[i] === 1 && this.mask[i] === 0, "replace");
  }

  indices() {
    const found = new Uint32Array(this.size);
    for (let i = 0, k = 0; i < this.mask.length; i++) if (this.mask[i]) found[k++] = i;
    return found;
  }

  counts(codes, many) {
    const counts = new Array(many).fill(0);
    for (let i = 0; i < this.mask.length; i++) if (this.mask[i]) counts[codes[i]] += 1;
    return counts;
  }
}

// Return a function that tests whether point i is shown and inside a curve on the screen.
export function insideCurve(curve, { points, view, shown }) {
  const left = Math.min(...curve.map(([x]) => x));
  const right = Math.max(...curve.map(([x]) => x));
  const top = Math.min(...curve.map(([, y]) => y));
  const bottom = Math.max(...curve.map(([, y]) => y));
  return (i) => {
    if (shown[i] === 0) return false;
    const [x, y] = view.diskToScreen(points.seen(i));
    return x >= left && x <= right && y >= top && y <= bottom && isInside(curve, x, y);
  };
}

export function boxOf([ax, ay], [bx, by]) {
  return [[ax, ay], [bx, ay], [bx, by], [ax, by]];
}
