// The unit disk as pairs [x, y]. Formulas as in hyplearn.geometry: nothing cancels near the rim.

const SPLITTER = 2 ** 27 + 1;
// The largest length whose artanh is finite in float64, with a few bits to spare.
const FARTHEST = 1 - 2 ** -50;
const MEAN_STEPS = 20;

// What x² rounds away, by Dekker's product.
function squareError(x, square) {
  const large = SPLITTER * x;
  const high = large - (large - x);
  const low = x - high;
  return low * low - (square - high * high - 2 * high * low);
}

// 1 - x² - y², exact to the last bits however small it is.
export function gap(x, y) {
  const xx = x * x;
  const yy = y * y;
  return 1 - Math.max(xx, yy) - Math.min(xx, yy) - (squareError(x, xx) + squareError(y, yy));
}

// (-p) ⊕ x: where x is seen once p has been moved to the centre.
export function seenFrom(p, x, gapOfP = gap(...p), gapOfX = gap(...x)) {
  const sx = x[0] - p[0];
  const sy = x[1] - p[1];
  const square = sx * sx + sy * sy;
  const below = gapOfP * gapOfX + square;
  return [(gapOfP * sx - square * p[0]) / below, (gapOfP * sy - square * p[1]) / below];
}

// p ⊕ x, the inverse of the former.
export function mobiusAdd(p, x) {
  return seenFrom([-p[0], -p[1]], x);
}

export function distance(x, y) {
  return 2 * Math.asinh(Math.hypot(x[0] - y[0], x[1] - y[1]) / Math.sqrt(gap(...x) * gap(...y)));
}

// The point from which x is seen at v: p = (x - v + x v conj(x - v)) / (1 - |x v|²) as complex numbers.
export function centreThatShows(x, v) {
  const dx = x[0] - v[0];
  const dy = x[1] - v[1];
  const re = x[0] * v[0] - x[1] * v[1];
  const im = x[0] * v[1] + x[1] * v[0];
  const below = 1 - (re * re + im * im);
  return [(dx + re * dx + im * dy) / below, (dy + im * dx - re * dy) / below];
}

// The point at a share of the way from p to q along their geodesic.
export function between(p, q, share) {
  const [x, y] = seenFrom(p, q);
  const length = Math.hypot(x, y);
  if (length === 0) return p;
  const part = Math.tanh(share * Math.atanh(Math.min(length, FARTHEST))) / length;
  return mobiusAdd(p, [part * x, part * y]);
}

// A point from which others are seen about the middle: a few steps towards their Fréchet mean.
export function meanOf(places) {
  let centre = [0, 0];
  for (let step = 0; step < MEAN_STEPS && places.length > 0; step++) {
    const sum = [0, 0];
    for (const place of places) {
      const [x, y] = seenFrom(centre, place);
      const length = Math.hypot(x, y);
      const pull = length > 0 ? Math.atanh(Math.min(length, FARTHEST)) / length / places.length : 0;
      sum[0] += pull * x;
      sum[1] += pull * y;
    }
    const length = Math.hypot(...sum);
    if (length < 1e-6) break;
    const part = Math.tanh(length) / length;
    centre = mobiusAdd(centre, [part * sum[0], part * sum[1]]);
  }
  return centre;
}

// The rotation of directions at x by the translation that moves p to the centre: (1 - x̄p) / (1 - p̄x).
export function turnSeenFrom(p, x, w) {
  const sx = x[0] - p[0];
  const sy = x[1] - p[1];
  const re = gap(...p) - (p[0] * sx + p[1] * sy);
  const im = p[1] * sx - p[0] * sy;
  return rotated(w, re, -im);
}

// Parallel transport of frame coordinates from p to q along the geodesic between them: (1 - q p̄) / (1 - q̄ p).
export function transported(w, p, q) {
  const sx = q[0] - p[0];
  const sy = q[1] - p[1];
  const re = gap(...p) - (p[0] * sx + p[1] * sy);
  const im = p[1] * sx - p[0] * sy;
  return rotated(w, re, im);
}

// w times (re + i im) / (re - i im).
function rotated(w, re, im) {
  const square = re * re + im * im;
  const cos = (re * re - im * im) / square;
  const sin = (2 * re * im) / square;
  return [w[0] * cos - w[1] * sin, w[0] * sin + w[1] * cos];
}

// The same direction, no farther from the centre than the radius.
export function within(x, radius) {
  const length = Math.hypot(...x);
  return length <= radius ? x : [(x[0] * radius) / length, (x[1] * radius) / length];
}
