// A classifier of the page, with its decision (as fitted, or with p moved) and its predictions for the points.
import { Decision, Table } from "./decision.js";
import { gap } from "./geometry.js";
import { decoded, optional, Points } from "./points.js";

export class Model {
  constructor(spec, root, points, plane) {
    Object.assign(this, { spec, points, plane, name: spec.name });
    this.fittedPredicted = decoded(spec.predicted);
    this.fittedConfidence = optional(spec.confidence);
    this.lead = optional(spec.lead);
    this.support = spec.support && Points.of(spec.support);
    this.top = spec.top && { ...spec.top, codes: decoded(spec.top.codes), probabilities: decoded(spec.top.probabilities) };
    this.fitted = spec.decision
      ? new Decision(spec.decision, root)
      : new Table(spec.table.size, decoded(spec.table.codes));
    this.putBack();
    this.leadName = spec.decision ? (this.decision.hasClosedDistance ? "distance to the boundary" : "lead of the highest score") : spec.lead_name;
  }

  // Restore the decision as it was fitted.
  putBack() {
    this.decision = this.fitted;
    this.isWhatIf = false;
    this.predicted = this.fittedPredicted;
    this.confidence = this.fittedConfidence;
  }

  // Move the boundary between two classes so that it passes through q, and predict all points again.
  movePoint(q) {
    const { x, y, gap: gaps, n } = this.points;
    this.decision = this.fitted.through(q);
    this.isWhatIf = true;
    this.predicted = new Uint16Array(n);
    this.confidence = this.fittedConfidence && new Float32Array(n);
    for (let i = 0; i < n; i++) {
      this.predicted[i] = this.decision.classOf(x[i], y[i], gaps[i]);
      if (this.confidence) this.confidence[i] = Math.max(...this.decision.probabilities(x[i], y[i], gaps[i]));
    }
  }

  // Return the point that is drawn as a star: the point through which the boundary was fitted, or the centre of a plane
  // across the boundary; null if there is none.
  referencePoint() {
    const { decision, spec } = this;
    return spec.movable || (this.plane !== null && decision.arc() !== null) ? decision.spec.points[0] : null;
  }

  // Return the probabilities by class: of all classes, or only the largest ones if they were computed in Python.
  probabilitiesOf(i) {
    if (this.top === null) return this.decision.probabilities(...this.points.at(i));
    const { per_point: many, codes, probabilities } = this.top;
    const entries = Array.from({ length: many }, (_, k) => [codes[i * many + k], probabilities[i * many + k]]);
    return Object.fromEntries(entries);
  }

  // Return how clear each prediction is: the distance to the boundary between two classes, or the lead of the largest
  // score over the second largest.
  leads() {
    if (this.lead !== null) return this.lead;
    const { decision, points: { x, y, gap: gaps, n } } = this;
    const found = new Float32Array(n);
    for (let i = 0; i < n; i++) {
      if (decision.hasClosedDistance) found[i] = Math.abs(decision.distances(x[i], y[i], gaps[i])[0]);
      else found[i] = leadOf(decision, decision.classOf(x[i], y[i], gaps[i]));
    }
    return found;
  }

  regionAt(x, y) {
    return this.decision.classOf(x, y, gap(x, y));
  }
}

// Return the difference between the largest and the second largest score.
function leadOf({ scores }, best) {
  let second = -Infinity;
  for (let k = 0; k < scores.length; k++) if (k !== best && scores[k] > second) second = scores[k];
  return scores[best] - second;
}
