// How far it is from a point to where the classifier says something else, for boundaries of any shape.
import { gap, mobiusAdd } from "./geometry.js";

const DIRECTIONS = 120;
const STEP = 0.1;
const FARTHEST = 12;

// Distances from a point to the nearest place of each other class, by class, in the units of the unit disk.
export function nearestOthers(x, decision) {
  const own = codeAt(x, 0, 0, decision);
  const found = new Map();
  for (let k = 0; k < DIRECTIONS; k++) {
    const angle = (2 * Math.PI * k) / DIRECTIONS;
    for (const [code, far] of met(x, angle, own, decision)) {
      if (!found.has(code) || far < found.get(code).far) found.set(code, { far, angle });
    }
  }
  for (const [code, { far, angle }] of found) found.set(code, refined(x, code, far, angle, decision));
  return found;
}

function codeAt(x, far, angle, decision) {
  const radius = Math.tanh(far / 2);
  const at = mobiusAdd(x, [radius * Math.cos(angle), radius * Math.sin(angle)]);
  return decision.classOf(...at, gap(...at));
}

// The classes that a walk from x in one direction meets, with the distance at which each begins.
function met(x, angle, own, decision) {
  const found = new Map();
  let last = own;
  for (let far = STEP; far < FARTHEST; far += STEP) {
    const code = codeAt(x, far, angle, decision);
    if (code !== last && code !== own && !found.has(code)) found.set(code, begin(x, angle, code, far, decision));
    last = code;
  }
  return found;
}

// Where between far - STEP and far that class begins.
function begin(x, angle, code, far, decision) {
  let [low, high] = [far - STEP, far];
  for (let i = 0; i < 30; i++) {
    const half = (low + high) / 2;
    if (codeAt(x, half, angle, decision) === code) high = half;
    else low = half;
  }
  return high;
}

// The least distance in the directions around that one: a circle that shrinks while it still meets the class.
function refined(x, code, far, angle, decision) {
  let [best, middle] = [far, angle];
  for (let width = (2 * Math.PI) / DIRECTIONS; width > 1e-5; width /= 2) {
    for (const turn of [middle - width, middle + width]) {
      if (codeAt(x, best, turn, decision) !== code) continue;
      best = begin(x, turn, code, best, decision);
      middle = turn;
    }
  }
  return best;
}
