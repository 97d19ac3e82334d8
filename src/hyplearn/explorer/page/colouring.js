// Colourings of the points by class, by prediction or by any column. A colouring is { key, name, kind, ... } with the
// kind "class" (class codes), "category" (codes with separate names) or "number" (values with a colour map).
import { packed } from "./colours.js";
import { decoded } from "./points.js";

// Return all colourings of the page; the first one is the default.
export function colouringsOf(app) {
  const { scene, models, labels } = app;
  const of = (model, text) => (models.length > 1 ? `${text}, ${model.name}` : text);
  const found = labels === null ? [] : [{ key: "class", name: "class", kind: "class", codes: labels }];
  models.forEach((model, k) => {
    const add = (key, name, rest) => found.push({ key: k ? `${key}${k + 1}` : key, name: of(model, name), ...rest });
    add("predicted", "prediction", { kind: "class", model, fromModel: (m) => m.predicted });
    if (labels !== null) {
      add("right", "right or wrong", {
        kind: "category", categories: ["right", "wrong"], styles: scene.pair, model,
        fromModel: (m) => Uint8Array.from(m.predicted, (code, i) => (code === labels[i] ? 0 : 1)),
      });
    }
    if (model.confidence) add("probability", "probability of the prediction", { kind: "number", model, fromModel: (m) => m.confidence });
    if (model.leadName) add("lead", model.leadName, { kind: "number", model, fromModel: (m) => m.leads() });
  });
  if (models.length > 1) {
    found.push({
      key: "agree", name: "where the models disagree", kind: "category", categories: ["agree", "disagree"], styles: scene.pair, model: models[0],
      fromModel: () => Uint8Array.from(models[0].predicted, (code, i) => (code === models[1].predicted[i] ? 0 : 1)),
    });
  }
  return [...found, ...scene.columns.map(columnOf)];
}

function columnOf(column, k) {
  const base = { key: `column${k + 1}`, name: column.name, kind: column.kind };
  if (column.kind === "number") return { ...base, values: decoded(column.values), isWhole: column.is_whole };
  return { ...base, codes: decoded(column.codes), categories: column.categories, styles: column.styles };
}

// Return the codes or values of a colouring. If they depend on a model, they are computed for the current position of
// p.
export function dataOf(colouring) {
  if (colouring.fromModel) return colouring.fromModel(colouring.model);
  return colouring.kind === "number" ? colouring.values : colouring.codes;
}

// Return the smallest and the largest finite value.
export function rangeOf(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low && value > -Infinity) low = value;
    if (value > high && value < Infinity) high = value;
  }
  if (low > high) return [0, 1];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

// Return how points are drawn in a colouring: the styles, and the index of the style of each point.
export function paintOf(colouring, palette, isLit) {
  const data = dataOf(colouring);
  const isNumber = colouring.kind === "number";
  const styles = isNumber ? rampStyles(palette) : colouring.kind === "class" ? palette.styles : palette.stylesOf(colouring.styles);
  return {
    index: isNumber ? steps(data, rangeOf(data), styles.length - 1) : data,
    styles,
    shapes: styles.map((one) => one.shape),
    bright: Int32Array.from(styles, (one) => packed(one.colour)),
    faded: Int32Array.from(styles, (one) => packed(palette.faded(one.colour))),
    isLit,
  };
}

// Return the styles of the colour map, followed by grey for missing values.
function rampStyles({ ramp, missing }) {
  return [...ramp, missing].map((colour) => ({ colour, shape: "circle" }));
}

// Convert values to indices into the colour map; missing values get the last index.
function steps(values, [low, high], count) {
  const index = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const share = Math.min(1, Math.max(0, (values[i] - low) / (high - low)));
    index[i] = Number.isNaN(share) ? count : Math.min(count - 1, Math.floor(share * count));
  }
  return index;
}
