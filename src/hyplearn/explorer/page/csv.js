// Export points as comma-separated values.
import { dataOf } from "./colouring.js";

// Text that a spreadsheet would interpret as a formula. It is escaped with an apostrophe.
const FORMULA = /^[=+\-@\t\r]/;

export function cell(value) {
  // Write seven digits, because the numbers are float32.
  if (typeof value === "number") return Number.isFinite(value) ? String(Number(value.toPrecision(7))) : "";
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf(app, indices) {
  const { scene, models, labels, colourings } = app;
  const named = (code) => scene.classes[code];
  const of = (model, text) => (models.length > 1 ? `${text} (${model.name})` : text);
  const columns = [["row", (i) => String(i)]];
  if (scene.names !== null) columns.push(["name", (i) => scene.names[i]]);
  if (labels !== null) columns.push(["class", (i) => named(labels[i])]);
  for (const model of models) {
    columns.push([of(model, "predicted"), (i) => named(model.predicted[i])]);
    if (model.confidence) columns.push([of(model, "probability"), (i) => model.confidence[i]]);
  }
  for (const colouring of colourings.filter((one) => one.key.startsWith("column"))) {
    const data = dataOf(colouring);
    columns.push([colouring.name, colouring.kind === "number" ? (i) => data[i] : (i) => colouring.categories[data[i]]]);
  }
  const lines = [columns.map(([name]) => cell(name)), ...Array.from(indices, (i) => columns.map(([, value]) => cell(value(i))))];
  return `${lines.map((line) => line.join(",")).join("\r\n")}\r\n`;
}
