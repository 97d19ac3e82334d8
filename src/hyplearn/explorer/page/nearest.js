// Distance from a point to where another class is as likely as the predicted one, whatever shape that curve has.
import { gap, mobiusAdd } from "./geometry.js";

const DIRECTIONS = 24;
const STEP = 0.25;
const FARTHEST = 20;
const TURN = (2 * Math.PI) / DIRECTIONS;

// Distances to the boundary with each class, in the units of the unit disk; null for the class itself and for none.
export function distancesToTies(x, decision) {
  const own = decision.classOf(...x, gap(...x));
  return Array.from(decision.scores, (_, code) => (code === own ? null : distanceToTie(x, own, code, decision)));
}

// The least radius of a circle around x on which the lead of one class over another ends.
function distanceToTie(x, own, code, decision) {
  const lead = (far, angle) => {
    const radius = Math.tanh(far / 2);
    const at = mobiusAdd(x, [radius * Math.cos(angle), radius * Math.sin(angle)]);
    const gapOfAt = gap(...at);
    return decision.score(own, ...at, gapOfAt) - decision.score(code, ...at, gapOfAt);
  };
  let far = STEP;
  while (leastLead(lead, far) > 0) {
    far += STEP;
    if (far > FARTHEST) return null;
  }
  let [low, high] = [far - STEP, far];
  for (let i = 0; i < 30; i++) {
    const half = (low + high) / 2;
    if (leastLead(lead, half) > 0) low = half;
    else high = half;
  }
  return high;
}

// The least lead on a circle: from the best of some directions on, by thirds.
function leastLead(lead, far) {
  const leads = Array.from({ length: DIRECTIONS }, (_, k) => lead(far, k * TURN));
  const best = leads.indexOf(Math.min(...leads));
  if (leads[best] <= 0) return leads[best];
  let [left, right] = [(best - 1) * TURN, (best + 1) * TURN];
  for (let i = 0; i < 25; i++) {
    const third = (right - left) / 3;
    if (lead(far, left + third) < lead(far, right - third)) right -= third;
    else left += third;
  }
  return lead(far, (left + right) / 2);
}
