// How the classifier decides: the scores of hyplearn/explorer/decision.py, or a table of its predictions.
import { gap, transported } from "./geometry.js";

const OUTSIDE = 0xffff;

// ρ / sinh ρ at sinh²(ρ/2) = t².
function shrink(t) {
  return t > 1e-8 ? arsinh(t) / (t * Math.sqrt(1 + t * t)) : 1;
}

// The factor that shortens cone coordinates beyond the distance `near`: (sinh near + ρ - near) / sinh ρ at cosh ρ.
function shorten(cosh, near) {
  if (cosh <= Math.cosh(near)) return 1;
  const sinh = Math.sqrt((cosh - 1) * (cosh + 1));
  return (Math.sinh(near) + Math.log(cosh + sinh) - near) / sinh;
}

// Three times as fast as Math.asinh, to the same absolute error: scores need no more.
function arsinh(h) {
  const size = Math.abs(h);
  const result = Math.log(size + Math.sqrt(size * size + 1));
  return h < 0 ? -result : result;
}

// ⟨z, w⟩, the hyperbolic sine of the distance to the boundary times |w|.
function height(k, x, y, room) {
  const sx = x - k.p[0];
  const sy = y - k.p[1];
  const bend = (sx * sx + sy * sy) / k.room;
  return (2 / room) * (sx * k.w[0] + sy * k.w[1] - bend * k.slope);
}

// Numbers of each problem in one array, which pixels are fast to read: p, w, w0, b, 1 / gap of p, ⟨p, w⟩.
const STRIDE = 8;

function flattened(problems) {
  return Float64Array.from(problems.flatMap((k) => [...k.p, ...k.w, k.w0, k.b, 1 / k.room, k.slope]));
}

// log σ(logit), without overflow.
function logSigmoid(logit) {
  return logit > 0 ? -Math.log1p(Math.exp(-logit)) : logit - Math.log1p(Math.exp(logit));
}

function scaledToOne(logs) {
  const largest = Math.max(...logs);
  const powers = logs.map((log) => Math.exp(log - largest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

export class Decision {
  constructor(spec, root) {
    this.spec = spec;
    this.root = root;
    this.problems = spec.problems.map((k) => ({
      ...k, room: gap(...k.p), slope: k.p[0] * k.w[0] + k.p[1] * k.w[1],
    }));
    this.flat = flattened(this.problems);
    this.gain = spec.link === "arsinh" ? spec.gain : 1;
    this.isBinary = this.problems.length === 1;
    this.hasChances = spec.is_softmax || spec.sigmoids !== null;
    this.hasDistances = ["arsinh", "z", "frame"].includes(spec.link);
    this.values = new Float64Array(this.isBinary ? 2 : this.problems.length);
  }

  // The same classifier if its only boundary passed through q, its normal carried along.
  through(q) {
    const { p, w } = this.spec.problems[0];
    return new Decision({ ...this.spec, problems: [{ ...this.spec.problems[0], p: q, w: transported(w, p, q) }] }, this.root);
  }

  score(k, x, y, room) {
    const { flat, spec } = this;
    const at = STRIDE * k;
    if (spec.link === "ball") return flat[at + 2] * x + flat[at + 3] * y + flat[at + 5];
    const sx = x - flat[at];
    const sy = y - flat[at + 1];
    const bend = (sx * sx + sy * sy) * flat[at + 6];
    const z = (2 / room) * (sx * flat[at + 2] + sy * flat[at + 3] - bend * flat[at + 7]);
    if (spec.link === "arsinh") return this.gain * arsinh(z);
    if (spec.link === "z") return z;
    if (spec.link === "frame") return shrink(Math.sqrt(bend / room)) * z;
    const cosh = 1 + (2 * bend) / room;
    return shorten(cosh, spec.near) * (flat[at + 4] * cosh + z) + flat[at + 5];
  }

  // A number that grows with the probability of class k, so that the largest one tells the prediction.
  value(k, x, y, room) {
    if (this.isBinary) return k === 0 ? 0 : this.binary(this.score(0, x, y, room));
    const score = this.score(k, x, y, room);
    const { sigmoids } = this.spec;
    return sigmoids === null ? score : sigmoids[k][0] * score + sigmoids[k][1];
  }

  // Positive for the second of two classes.
  binary(score) {
    const { shift, sigmoids } = this.spec;
    return shift === null ? sigmoids[0][0] * score + sigmoids[0][1] : score - shift;
  }

  // The class of the largest value, which `values` keeps.
  classOf(x, y, room) {
    if (this.spec.is_softmax) this.fillSoftmax(x, y, room);
    else for (let k = 0; k < this.values.length; k++) this.values[k] = this.value(k, x, y, room);
    let best = 0;
    for (let k = 1; k < this.values.length; k++) if (this.values[k] > this.values[best]) best = k;
    return best;
  }

  // As `value` of every class: with one p for all of them, most is computed once.
  fillSoftmax(x, y, room) {
    const { flat, values } = this;
    const sx = x - flat[0];
    const sy = y - flat[1];
    const bend = (sx * sx + sy * sy) * flat[6];
    const cosh = 1 + (2 * bend) / room;
    const factor = shorten(cosh, this.spec.near);
    const fx = factor * (2 / room) * (sx - bend * flat[0]);
    const fy = factor * (2 / room) * (sy - bend * flat[1]);
    const time = factor * cosh;
    for (let k = 0, at = 0; k < values.length; k++, at += STRIDE) {
      values[k] = flat[at + 4] * time + flat[at + 2] * fx + flat[at + 3] * fy + flat[at + 5];
    }
  }

  // Probabilities of all classes, in their order.
  chances(x, y, room = gap(x, y)) {
    if (!this.hasChances) return null;
    const scores = this.problems.map((_, k) => this.score(k, x, y, room));
    if (this.spec.is_softmax) return scaledToOne(scores);
    const logits = scores.map((score, k) => this.spec.sigmoids[k][0] * score + this.spec.sigmoids[k][1]);
    if (this.isBinary) return [Math.exp(logSigmoid(-logits[0])), Math.exp(logSigmoid(logits[0]))];
    return scaledToOne(logits.map((logit) => this.spec.sharpness * logSigmoid(logit)));
  }

  // Signed hyperbolic distances to the geodesic boundary of each problem, in the units of the ball.
  distances(x, y, room = gap(x, y)) {
    return this.problems.map((k) => Math.asinh(height(k, x, y, room) / (Math.hypot(...k.w) || 1)) / this.root);
  }

  // The arc on which two classes are told apart: p, w and the distance from the geodesic; null if it is no such arc.
  arc() {
    const { link, shift } = this.spec;
    const length = this.isBinary ? Math.hypot(...this.problems[0].w) : 0;
    if (!this.hasDistances || length === 0 || shift === null || (shift !== 0 && link !== "arsinh")) return null;
    return { ...this.problems[0], height: Math.asinh(Math.sinh(shift / this.gain) / length) };
  }
}

// A classifier of another kind: the class of each pixel of the disk, as Python predicted it.
export class Table {
  constructor(size, codes) {
    this.size = size;
    this.codes = codes;
    this.hasChances = false;
    this.hasDistances = false;
    this.values = null;
  }

  classOf(x, y) {
    const at = (value) => Math.min(this.size - 1, Math.max(0, Math.floor(((value + 1) * this.size) / 2)));
    const code = this.codes[at(y) * this.size + at(x)];
    if (code !== OUTSIDE) return code;
    // A pixel whose centre lies beyond the rim: its neighbour towards the middle.
    const inwards = 1 - 3 / this.size;
    return this.codes[at(y * inwards) * this.size + at(x * inwards)];
  }

  chances() {
    return null;
  }

  arc() {
    return null;
  }
}
