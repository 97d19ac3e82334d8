// The card that describes one point: its name, class, prediction, probabilities, distances and columns.
import { cssOf } from "./colours.js";
import { dataOf } from "./colouring.js";
import { element, percent, short, swatch } from "./dom.js";
import { distancesToTies } from "./nearest.js";

// Maximum number of classes in the table of a card, for one model and for two models.
const MOST_ROWS = 6;
const MOST_ROWS_OF_TWO = 3;

// Return facts about point i, with one row per class. The most probable class comes first; among equally probable
// classes, the predicted one. The distance of a class is the distance to its boundary with the predicted class.
export function factsOf(app, model, i) {
  const { scene } = app;
  const predicted = model.predicted[i];
  const probabilities = model.probabilitiesOf(i);
  const distances = distancesOf(scene, model, i, predicted);
  const rows = scene.classes.slice(0, scene.known).map((name, code) => ({
    name,
    code,
    probability: probabilities === null ? null : (probabilities[code] ?? null),
    distance: distances === null ? null : distances[code],
  }));
  const isPredicted = (row) => (row.code === predicted ? 1 : 0);
  rows.sort((a, b) => b.probability - a.probability || isPredicted(b) - isPredicted(a) || a.code - b.code);
  return { name: app.nameOf(i), predicted, rows };
}

// Return the distances to the boundaries with all classes, with null for the predicted class; return null if the
// distances are unknown.
function distancesOf({ root }, { decision, points }, i, predicted) {
  const at = points.at(i);
  if (decision.scores === null) return null;
  const closed = decision.hasClosedDistance ? decision.distances(...at)[0] : null;
  if (closed !== null) return [0, 1].map((code) => (code === predicted ? null : Math.abs(closed)));
  return distancesToTies(at, decision).map((far) => far && far / root);
}

export function fillCard(card, app, i) {
  const { scene, palette, labels, models } = app;
  const list = element("dl");
  const add = (term, ...parts) => list.append(element("dt", { text: term }), element("dd", {}, ...parts));
  const named = (code) => [swatch(palette.styles[code]), element("span", { text: scene.classes[code] })];
  if (labels !== null) add("class", ...named(labels[i]));
  const facts = models.map((model) => factsOf(app, model, i));
  models.forEach((model, k) => {
    const term = model.isWhatIf ? "at this p" : "predicted";
    add(models.length > 1 ? `${term}, ${model.name}` : term, ...named(facts[k].predicted), verdict(labels, i, facts[k]));
  });
  for (const colouring of app.colourings.filter((one) => one.key.startsWith("column"))) {
    const value = dataOf(colouring)[i];
    add(colouring.name, element("span", { text: colouring.kind === "number" ? short(value) : colouring.categories[value] }));
  }
  const close = element("button", { type: "button", class: "close", "aria-label": "Close the card", text: "✕" });
  close.addEventListener("click", () => app.pin(-1));
  card.classList.toggle("pinned", app.pinned === i);
  const tables = models.flatMap((model, k) => measures(app, model, facts[k]));
  card.replaceChildren(close, element("h3", { text: app.nameOf(i) }), list, ...tables);
}

function verdict(labels, i, { predicted }) {
  if (labels === null) return "";
  return labels[i] === predicted ? element("b", { text: " ✓" }) : element("b", { class: "wrong", text: " ✗ wrong" });
}

// Return the elements that show probabilities and distances.
function measures(app, model, facts) {
  const hasProbabilities = facts.rows.some((row) => row.probability !== null);
  const hasDistances = facts.rows.some((row) => row.distance !== null);
  // If there is only one boundary, its distance is shown in a sentence instead of a column.
  const isOne = model.decision.isBinary && hasDistances;
  const lines = [];
  if (app.models.length > 1 && (hasProbabilities || hasDistances)) lines.push(element("h4", { text: model.name }));
  if (hasProbabilities || (hasDistances && !isOne)) {
    lines.push(tableOf(app, facts, hasProbabilities, hasDistances && !isOne));
  }
  if (isOne) {
    const distance = facts.rows.find((row) => row.distance !== null).distance.toFixed(3);
    const side = app.scene.classes[facts.predicted];
    lines.push(element("p", { text: `${distance} from the boundary, on the side of ${side}` }));
  }
  return lines;
}

function tableOf({ palette, models }, facts, hasProbabilities, hasDistances) {
  const head = element("tr", {}, element("th", { text: "" }));
  if (hasProbabilities) head.append(element("th", { text: "probability", colspan: "2" }));
  if (hasDistances) head.append(element("th", { text: "distance to boundary" }));
  const most = models.length > 1 ? MOST_ROWS_OF_TWO : MOST_ROWS;
  const rows = facts.rows.filter((row) => !hasProbabilities || row.probability !== null).slice(0, most);
  const body = rows.map((row) => {
    const line = element("tr", {}, element("th", { scope: "row", text: row.name }));
    if (hasProbabilities) {
      const width = `width:${(100 * row.probability).toFixed(1)}%;background:${cssOf(palette.points[row.code])}`;
      line.append(element("td", { class: "share" }, element("span", { style: width })));
      line.append(element("td", { text: percent(row.probability) }));
    }
    if (hasDistances) line.append(element("td", { text: distanceText(row, facts) }));
    return line;
  });
  return element("table", {}, head, ...body);
}

function distanceText(row, facts) {
  if (row.distance !== null) return row.distance.toFixed(3);
  return row.code === facts.predicted ? "" : "none";
}

// Distance in pixels between a card and its point.
const BESIDE = 18;

// Return the position of a card beside a point: to the right, to the left, below or above, in the first area that has
// enough space. An area is [left, top, right, bottom]. The card never covers the point.
export function placeBeside([x, y], [width, height], areas) {
  for (const [left, top, right, bottom] of areas) {
    const level = clamp(y - height / 2, top, bottom - height);
    const aside = clamp(x - width / 2, left, right - width);
    if (bottom - top >= height) {
      if (x + BESIDE + width <= right) return [x + BESIDE, level];
      if (x - BESIDE - width >= left) return [x - BESIDE - width, level];
    }
    if (right - left >= width) {
      if (y + BESIDE + height <= bottom) return [aside, y + BESIDE];
      if (y - BESIDE - height >= top) return [aside, y - BESIDE - height];
    }
  }
  const [left, , right] = areas.at(-1);
  return [clamp(x - width / 2, left, Math.max(left, right - width)), y + BESIDE];
}

function clamp(value, low, high) {
  return Math.max(low, Math.min(high, value));
}
