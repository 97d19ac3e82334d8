// Geometry of the unit disk; points are pairs [x, y]. The formulas are those of hyplearn.geometry, which avoid
// cancellation near the rim.

// Constant that splits a float64 into two halves of 26 bits (Dekker).
const SPLITTER = 2 ** 27 + 1;
// Largest length that is passed to atanh, slightly less than 1, so that the result is finite.
const FARTHEST = 1 - 2 ** -50;
// Maximum number of steps towards the Fréchet mean.
const MEAN_STEPS = 20;

// Return the rounding error of the square of x, computed with Dekker's product.
function squareError(x, square) {
  const large = SPLITTER * x;
  const high = large - (large - x);
  const low = x - high;
  return low * low - (square - high * high - 2 * high * low);
}

// Return 1 - x² - y², accurate to the last bits even if it is very small.
export function gap(x, y) {
  const xx = x * x;
  const yy = y * y;
  return 1 - Math.max(xx, yy) - Math.min(xx, yy) - (squareError(x, xx) + squareError(y, yy));
}

// Return (-p) ⊕ x, the position of x after the translation that moves p to the centre.
export function seenFrom(p, x, gapOfP = gap(...p), gapOfX = gap(...x)) {
  const sx = x[0] - p[0];
  const sy = x[1] - p[1];
  const square = sx * sx + sy * sy;
  const below = gapOfP * gapOfX + square;
  return [(gapOfP * sx - square * p[0]) / below, (gapOfP * sy - square * p[1]) / below];
}

// Return p ⊕ x, the inverse of seenFrom.
export function mobiusAdd(p, x) {
  return seenFrom([-p[0], -p[1]], x);
}

export function distance(x, y) {
  return 2 * Math.asinh(Math.hypot(x[0] - y[0], x[1] - y[1]) / Math.sqrt(gap(...x) * gap(...y)));
}

// Return the centre p from which x is seen at v. As complex numbers, p = (x - v + x v conj(x - v)) / (1 - |x v|²).
export function centreThatShows(x, v) {
  const dx = x[0] - v[0];
  const dy = x[1] - v[1];
  const re = x[0] * v[0] - x[1] * v[1];
  const im = x[0] * v[1] + x[1] * v[0];
  const below = 1 - (re * re + im * im);
  return [(dx + re * dx + im * dy) / below, (dy + im * dx - re * dy) / below];
}

// Return the point at the given share (0 to 1) of the way from p to q along the geodesic.
export function between(p, q, share) {
  const [x, y] = seenFrom(p, q);
  const length = Math.hypot(x, y);
  if (length === 0) return p;
  const part = Math.tanh(share * Math.atanh(Math.min(length, FARTHEST))) / length;
  return mobiusAdd(p, [part * x, part * y]);
}

// Return an approximate Fréchet mean of the given points.
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

// Rotate the direction w at x by the translation that moves p to the centre. The rotation is (1 - x̄p) / (1 - p̄x).
export function turnSeenFrom(p, x, w) {
  const sx = x[0] - p[0];
  const sy = x[1] - p[1];
  const re = gap(...p) - (p[0] * sx + p[1] * sy);
  const im = p[1] * sx - p[0] * sy;
  return rotated(w, re, -im);
}

// Transport frame coordinates from p to q along the geodesic between them. The rotation is (1 - q p̄) / (1 - q̄ p).
export function transported(w, p, q) {
  const sx = q[0] - p[0];
  const sy = q[1] - p[1];
  const re = gap(...p) - (p[0] * sx + p[1] * sy);
  const im = p[1] * sx - p[0] * sy;
  return rotated(w, re, im);
}

// Multiply w by the complex number (re + i im) / (re - i im).
function rotated(w, re, im) {
  const square = re * re + im * im;
  const cos = (re * re - im * im) / square;
  const sin = (2 * re * im) / square;
  return [w[0] * cos - w[1] * sin, w[0] * sin + w[1] * cos];
}

// Return x, moved towards the centre if it is farther away than the radius.
export function within(x, radius) {
  const length = Math.hypot(...x);
  return length <= radius ? x : [(x[0] * radius) / length, (x[1] * radius) / length];
}
