// The card of one point: its name, class, prediction, probabilities and distances.
import { cssOf } from "./colours.js";
import { distancesToTies } from "./nearest.js";

const MOST_ROWS = 6;

export function element(tag, { text, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

export function percent(share) {
  if (share === 0 || share === 1) return `${100 * share} %`;
  if (share < 0.00005) return "< 0.01 %";
  if (share > 0.99995) return "> 99.99 %";
  return `${(100 * share).toFixed(share > 0.999 || share < 0.001 ? 2 : 1)} %`;
}

export function swatch(colour) {
  return element("span", { class: "swatch", style: `background:${colour}`, "aria-hidden": "true" });
}

// Facts about point i: rows of classes, the most probable first; of those equally probable, the predicted one. The
// distance of a class is that to where it is as likely as the predicted one: there, and nowhere else, predictions change.
export function factsOf(app, i) {
  const { scene } = app;
  const predicted = app.predicted[i];
  const probabilities = app.probabilitiesOf(i);
  const distances = distancesOf(app, i, predicted);
  const rows = scene.classes.slice(0, scene.known).map((name, code) => ({
    name,
    code,
    probability: probabilities === null ? null : (probabilities[code] ?? null),
    distance: distances === null ? null : distances[code],
  }));
  const isPredicted = (row) => (row.code === predicted ? 1 : 0);
  rows.sort((a, b) => b.probability - a.probability || isPredicted(b) - isPredicted(a) || a.code - b.code);
  return { name: scene.names?.[i] ?? `point ${i}`, predicted, rows };
}

// Distances to the boundary with each class, null for the predicted one; null in place of all if they are unknown.
function distancesOf({ scene, decision, points }, i, predicted) {
  const at = points.at(i);
  if (decision.scores === null) return null;
  const closed = decision.isBinary && decision.hasDistances ? decision.distances(...at)[0] : null;
  if (closed !== null) return [0, 1].map((code) => (code === predicted ? null : Math.abs(closed)));
  return distancesToTies(at, decision).map((far) => far && far / scene.root);
}

export function fillCard(card, app, i) {
  const { scene, palette, labels } = app;
  const facts = factsOf(app, i);
  const isRight = labels === null ? null : labels[i] === facts.predicted;
  const named = (code) => [swatch(cssOf(palette.points[code])), element("span", { text: scene.classes[code] })];
  const list = element("dl");
  if (labels !== null) list.append(element("dt", { text: "class" }), element("dd", {}, ...named(labels[i])));
  const verdict = isRight === null ? "" : isRight ? " ✓" : " ✗ wrong";
  list.append(
    element("dt", { text: app.isWhatIf ? "at this p" : "predicted" }),
    element("dd", { class: isRight === false ? "wrong" : "" }, ...named(facts.predicted), element("b", { text: verdict })),
  );
  const close = element("button", { type: "button", class: "close", "aria-label": "Close the card", text: "✕" });
  close.addEventListener("click", () => app.pin(-1));
  card.classList.toggle("pinned", app.pinned === i);
  card.replaceChildren(close, element("h3", { text: facts.name }), list, ...measures(app, facts));
}

const BESIDE = 18;

// Where a card of some size stands beside a place: right, left, below or above it, in the first of the areas where there
// is space. An area is [left, top, right, bottom]. The card never covers the place.
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

// Probabilities and distances, as a small table.
function measures(app, facts) {
  const hasProbabilities = facts.rows.some((row) => row.probability !== null);
  const hasDistances = facts.rows.some((row) => row.distance !== null);
  // One boundary: a sentence in place of a column.
  const isOne = app.decision.isBinary && hasDistances;
  const lines = [];
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

function tableOf({ palette }, facts, hasProbabilities, hasDistances) {
  const head = element("tr", {}, element("th", { text: "" }));
  if (hasProbabilities) head.append(element("th", { text: "probability", colspan: "2" }));
  if (hasDistances) head.append(element("th", { text: "to the boundary with it" }));
  const rows = facts.rows.filter((row) => !hasProbabilities || row.probability !== null).slice(0, MOST_ROWS);
  const body = rows.map((row) => {
    const line = element("tr", {}, element("th", { scope: "row", text: row.name }));
    if (hasProbabilities) {
      const width = `width:${(100 * row.probability).toFixed(1)}%;background:${cssOf(palette.points[row.code])}`;
      line.append(element("td", { class: "bar" }, element("span", { style: width })));
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
