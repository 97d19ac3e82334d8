// What the colours of points mean: classes, predictions, or any column. A colouring is { key, name, kind, ... } with kind
// "class" (codes of classes), "category" (codes and names of its own) or "number" (values between low and high).
import { packed } from "./colours.js";
import { decoded } from "./points.js";

// All colourings that a page offers, the usual one first.
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

// The codes or values of a colouring, which follow p where it is moved.
export function dataOf(colouring) {
  if (colouring.fromModel) return colouring.fromModel(colouring.model);
  return colouring.kind === "number" ? colouring.values : colouring.codes;
}

// Least and largest value that is a number.
export function rangeOf(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low && value > -Infinity) low = value;
    if (value > high && value < Infinity) high = value;
  }
  if (low > high) return [0, 1];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

// How points look under a colouring: an index of each point into colours and shapes.
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

// The ramp, and grey for values that are missing.
function rampStyles({ ramp, missing }) {
  return [...ramp, missing].map((colour) => ({ colour, shape: "circle" }));
}

// Values as steps of the ramp; the last index is that of missing values.
function steps(values, [low, high], count) {
  const index = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const share = Math.min(1, Math.max(0, (values[i] - low) / (high - low)));
    index[i] = Number.isNaN(share) ? count : Math.min(count - 1, Math.floor(share * count));
  }
  return index;
}
