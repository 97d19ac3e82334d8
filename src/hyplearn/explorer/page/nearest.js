// Distance from a point to the nearest place where another class is as likely as the predicted class, for boundaries of
// any shape.
import { gap, mobiusAdd } from "./geometry.js";

// Number of directions in which the lead is evaluated on a circle, difference between the radii of successive circles,
// and largest radius.
const DIRECTIONS = 24;
const STEP = 0.25;
const FARTHEST = 20;
const TURN = (2 * Math.PI) / DIRECTIONS;

// Return the distances to the boundaries with all other classes, for curvature -1. The distance is null for the
// predicted class, and for classes without a boundary nearby.
export function distancesToTies(x, decision) {
  const own = decision.classOf(...x, gap(...x));
  return Array.from(decision.scores, (_, code) => (code === own ? null : distanceToTie(x, own, code, decision)));
}

// Return the radius of the smallest circle around x on which the lead of the class `own` over `code` drops to 0.
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

// Return the smallest lead on a circle, found by ternary search around the sampled direction with the smallest lead.
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
