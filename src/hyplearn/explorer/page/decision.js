// Decision of a classifier, computed with the formulas of hyplearn/decision or looked up in a table of predictions.
import { gap, transported } from "./geometry.js";

// Code of table cells outside the disk.
const OUTSIDE = 0xffff;

// Return ρ / sinh ρ, given t = sinh(ρ/2).
function shrink(t) {
  return t > 1e-8 ? arsinh(t) / (t * Math.sqrt(1 + t * t)) : 1;
}

// Return the factor by which version 0.1 shortened rows beyond the distance 4, which is (sinh 4 + ρ - 4) / sinh ρ.
const NEAR = 4;
function shorten(cosh) {
  if (cosh <= Math.cosh(NEAR)) return 1;
  const sinh = Math.sqrt((cosh - 1) * (cosh + 1));
  return (Math.sinh(NEAR) + Math.log(cosh + sinh) - NEAR) / sinh;
}

// Return the inverse hyperbolic sine. This is three times as fast as Math.asinh, with the same absolute error but a
// larger relative error, which is enough for scores.
function arsinh(h) {
  const size = Math.abs(h);
  const result = Math.log(size + Math.sqrt(size * size + 1));
  return h < 0 ? -result : result;
}

// Return the signed distance to a boundary, which is a circle around p, or an equidistant at the distance `height` from
// the geodesic through p with normal w.
function distanceTo({ kind, p, w, height, radius, side }, x, y, gapOfX) {
  const sx = x - p[0];
  const sy = y - p[1];
  const bend = (sx * sx + sy * sy) / gap(...p);
  if (kind === "sphere") return side * (2 * Math.asinh(Math.sqrt(bend / gapOfX)) - radius);
  const sine = (2 / gapOfX) * (sx * w[0] + sy * w[1] - bend * (p[0] * w[0] + p[1] * w[1]));
  return Math.asinh(sine / Math.hypot(...w)) - height;
}

// Return log σ(score) without overflow.
function logSigmoid(score) {
  return score > 0 ? -Math.log1p(Math.exp(-score)) : score - Math.log1p(Math.exp(score));
}

function softmax(logs) {
  const largest = Math.max(...logs);
  const powers = logs.map((log) => Math.exp(log - largest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

// Number of elements per problem in a flat array, which is fast to read: p, w, w0, b, 1 / gap of p, ⟨p, w⟩, and the
// slope and offset that convert the value to a score.
const STRIDE = 10;
// Links whose values are computed from linear functions of hyperboloid coordinates relative to a centre.
const HYPERBOLOID = new Set(["sphere", "sphere-arsinh", "cone"]);

function flattened({ link, points, weights, intercepts, slopes, offsets }) {
  return Float64Array.from(points.flatMap((p, k) => {
    const [w0, ...w] = link === "kernel" ? [0, 0, 0] : HYPERBOLOID.has(link) ? weights[k] : [0, ...weights[k]];
    const product = p[0] * w[0] + p[1] * w[1];
    return [...p, ...w, w0, intercepts[k], 1 / gap(...p), product, slopes?.[k] ?? 1, offsets?.[k] ?? 0];
  }));
}

// Weighted sums of kernel values between a point and all landmarks. The sums for the last point are kept, because most
// points are evaluated twice.
class KernelSums {
  constructor({ name, scale, landmarks }, weights) {
    this.name = name;
    this.scale = scale;
    // log cosh of the scale. The secant kernel is a power of cosh ρ whose value at ρ = scale is 1/e.
    this.fall = scale + Math.log1p(Math.exp(-2 * scale)) - Math.LN2;
    if (scale < 1) this.fall = Math.log1p(2 * Math.sinh(scale / 2) ** 2);
    this.x = Float64Array.from(landmarks, (p) => p[0]);
    this.y = Float64Array.from(landmarks, (p) => p[1]);
    this.gaps = Float64Array.from(landmarks, (p) => gap(...p));
    this.weights = weights.map((row) => Float64Array.from(row));
    this.sums = new Float64Array(weights.length);
    this.at = [NaN, NaN];
  }

  of(x, y, gapOfX) {
    const { sums, weights } = this;
    if (x === this.at[0] && y === this.at[1]) return sums;
    this.at = [x, y];
    sums.fill(0);
    for (let l = 0; l < this.gaps.length; l++) {
      const value = this.value((x - this.x[l]) ** 2 + (y - this.y[l]) ** 2, gapOfX * this.gaps[l]);
      for (let k = 0; k < sums.length; k++) sums[k] += value * weights[k][l];
    }
    return sums;
  }

  // With t = sinh(ρ/2), the Laplacian kernel exp(-ρ / scale) is a power of e^(ρ/2) = t + √(1 + t²), and the secant
  // kernel is a power of cosh ρ = 1 + 2t². The latter is computed with log1p, which keeps digits that matter at a large
  // scale.
  value(square, gaps) {
    if (this.name === "secant") return Math.exp(-Math.log1p((2 * square) / gaps) / this.fall);
    const t = Math.sqrt(square / gaps);
    if (this.name === "laplacian") return (t + Math.sqrt(1 + t * t)) ** (-2 / this.scale);
    return shrink(t) * Math.exp(-2 * (arsinh(t) / this.scale) ** 2);
  }
}

export class Decision {
  constructor(spec, root) {
    this.spec = spec;
    this.root = root;
    this.flat = flattened(spec);
    this.kernel = spec.kernel && new KernelSums(spec.kernel, spec.weights);
    this.problems = spec.points.length;
    this.isBinary = this.problems === 1;
    this.hasProbabilities = spec.slopes !== null;
    const [[px, py]] = spec.points;
    this.hasOneCentre = HYPERBOLOID.has(spec.link) && spec.points.every(([qx, qy]) => qx === px && qy === py);
    // If each score depends on the values of all problems, `mixing` contains the coefficients by rows, and `values` the
    // values at the last point.
    this.mixing = spec.mixing === null ? null : Float64Array.from(spec.mixing.flat());
    this.values = new Float64Array(this.problems);
    this.hasDistances = spec.boundaries !== null;
    this.hasClosedDistance = this.isBinary && this.hasDistances && spec.boundaries[0] !== null;
    // Scores of all classes; for two classes, 0 and the only score. The class with the largest score is predicted.
    this.scores = new Float64Array(this.isBinary ? 2 : this.problems);
  }

  // Return the same decision with its only boundary moved to q; the normal is transported from p to q.
  through(q) {
    const { points: [p], weights: [w], boundaries } = this.spec;
    const moved = boundaries?.map((arc) => arc && { ...arc, p: q, w: transported(arc.w, p, q) }) ?? null;
    return new Decision({ ...this.spec, points: [q], weights: [transported(w, p, q)], boundaries: moved }, this.root);
  }

  value(k, x, y, gapOfX) {
    const { flat, spec } = this;
    const at = STRIDE * k;
    if (this.kernel) return this.kernel.of(x, y, gapOfX)[k] + flat[at + 5];
    if (spec.link === "ball") return flat[at + 2] * x + flat[at + 3] * y + flat[at + 5];
    const sx = x - flat[at];
    const sy = y - flat[at + 1];
    const bend = (sx * sx + sy * sy) * flat[at + 6];
    const z = (2 / gapOfX) * (sx * flat[at + 2] + sy * flat[at + 3] - bend * flat[at + 7]);
    if (spec.link === "arsinh") return spec.gain * arsinh(z);
    if (spec.link === "z") return z;
    if (spec.link === "frame") return shrink(Math.sqrt(bend / gapOfX)) * z;
    const cosh = 1 + (2 * bend) / gapOfX;
    const linear = flat[at + 4] * cosh + z;
    if (spec.link === "cone") return shorten(cosh) * linear + flat[at + 5];
    const value = shrink(Math.sqrt(bend / gapOfX)) * (linear + flat[at + 5]);
    return spec.link === "sphere" ? value : arsinh(value);
  }

  // Return the score of a class; the score of the first of two classes is 0.
  score(code, x, y, gapOfX) {
    if (this.isBinary && code === 0) return 0;
    const k = this.isBinary ? 0 : code;
    if (this.mixing !== null) {
      for (let j = 0; j < this.problems; j++) this.values[j] = this.value(j, x, y, gapOfX);
      return this.mixed(code);
    }
    return this.flat[STRIDE * k + 8] * this.value(k, x, y, gapOfX) + this.flat[STRIDE * k + 9];
  }

  // Return the score of a class, computed from the values of all problems.
  mixed(code) {
    const { mixing, values, problems } = this;
    let sum = this.flat[STRIDE * code + 9];
    for (let j = 0, at = code * problems; j < problems; j++) sum += mixing[at + j] * values[j];
    return sum;
  }

  // Return the class with the largest score, and store all scores in this.scores.
  classOf(x, y, gapOfX) {
    const { scores } = this;
    if (this.hasOneCentre) this.fillAtOnce(x, y, gapOfX);
    else if (this.mixing === null) for (let k = 0; k < scores.length; k++) scores[k] = this.score(k, x, y, gapOfX);
    else for (let k = 0; k < this.problems; k++) this.values[k] = this.value(k, x, y, gapOfX);
    if (this.mixing !== null) for (let k = 0; k < scores.length; k++) scores[k] = this.mixed(k);
    let best = 0;
    for (let k = 1; k < scores.length; k++) if (scores[k] > scores[best]) best = k;
    return best;
  }

  codeOf([x, y]) {
    return this.classOf(x, y, gap(x, y));
  }

  // Compute the scores of all classes if all problems have the same p. Common terms are computed only once.
  fillAtOnce(x, y, gapOfX) {
    const { flat, scores, spec: { link } } = this;
    const sx = x - flat[0];
    const sy = y - flat[1];
    const bend = (sx * sx + sy * sy) * flat[6];
    const cosh = 1 + (2 * bend) / gapOfX;
    const factor = link === "cone" ? shorten(cosh) : shrink(Math.sqrt(bend / gapOfX));
    const fx = factor * (2 / gapOfX) * (sx - bend * flat[0]);
    const fy = factor * (2 / gapOfX) * (sy - bend * flat[1]);
    const time = factor * cosh;
    const first = scores.length - this.problems;
    const constant = link === "cone" ? 1 : factor;
    const output = link === "sphere-arsinh" ? arsinh : (value) => value;
    for (let k = 0, at = 0; k < this.problems; k++, at += STRIDE) {
      const value = flat[at + 4] * time + flat[at + 2] * fx + flat[at + 3] * fy + constant * flat[at + 5];
      this.values[k] = output(value);
      scores[first + k] = flat[at + 8] * this.values[k] + flat[at + 9];
    }
  }

  // Return the probabilities of all classes, in the order of the classes.
  probabilities(x, y, gapOfX = gap(x, y)) {
    if (!this.hasProbabilities) return null;
    const { floor } = this.spec;
    const pure = this.withoutFloor(Array.from(this.scores, (_, code) => this.score(code, x, y, gapOfX)));
    return pure.map((probability) => (1 - floor) * probability + floor / pure.length);
  }

  // Convert scores to probabilities, before the constant `floor` is mixed in.
  withoutFloor(scores) {
    const { sharpness } = this.spec;
    if (this.isBinary) return [Math.exp(logSigmoid(-scores[1])), Math.exp(logSigmoid(scores[1]))];
    return softmax(sharpness === null ? scores : scores.map((score) => sharpness * logSigmoid(score)));
  }

  // Return the signed hyperbolic distance to the boundary of each problem, in units of the original ball; null for a
  // problem without a boundary.
  distances(x, y, gapOfX = gap(x, y)) {
    return this.spec.boundaries?.map((arc) => arc && distanceTo(arc, x, y, gapOfX) / this.root) ?? null;
  }

  // Return the boundary between two classes; null if it is not a circular arc.
  arc() {
    return (this.isBinary && this.spec.boundaries?.[0]) || null;
  }
}

// Decision of any other classifier: a table with the predicted class of each pixel of the disk.
export class Table {
  constructor(size, codes) {
    this.size = size;
    this.codes = codes;
    this.hasProbabilities = false;
    this.hasDistances = false;
    this.hasClosedDistance = false;
    this.scores = null;
  }

  classOf(x, y) {
    const at = (value) => Math.min(this.size - 1, Math.max(0, Math.floor(((value + 1) * this.size) / 2)));
    const code = this.codes[at(y) * this.size + at(x)];
    if (code !== OUTSIDE) return code;
    // The cell is outside the disk, so use the neighbouring cell towards the middle.
    const inwards = 1 - 3 / this.size;
    return this.codes[at(y * inwards) * this.size + at(x * inwards)];
  }

  codeOf([x, y]) {
    return this.classOf(x, y);
  }

  probabilities() {
    return null;
  }

  arc() {
    return null;
  }
}
