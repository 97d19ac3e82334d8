// The disk and its legend as a PNG.
import { cssOf } from "./colours.js";

const LINE = 24;

export function saveAsPicture(app, layers, ratio) {
  const { view, scene, palette, panel } = app;
  const shown = scene.classes.map((name, code) => ({ name, code })).filter(({ code }) => !app.filter.hidden.has(code));
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  const font = "14px system-ui, sans-serif";
  context.font = font;
  const labels = shown.map(({ name, code }) => `${name}  (${panel.sizes[code].toLocaleString("en")})`);
  const legend = 48 + Math.max(...labels.map((label) => context.measureText(label).width), 120);
  const height = Math.max(view.height, 80 + LINE * shown.length);
  canvas.width = (view.width + legend) * ratio;
  canvas.height = height * ratio;
  context.scale(ratio, ratio);
  context.fillStyle = cssOf(palette.ground);
  context.fillRect(0, 0, view.width + legend, height);
  for (const layer of layers) context.drawImage(layer, 0, 0, view.width, view.height);
  context.font = `600 ${font}`;
  context.fillStyle = cssOf(palette.ink);
  context.fillText(scene.title, view.width, 40);
  context.font = font;
  shown.forEach(({ code }, line) => {
    const y = 72 + LINE * line;
    context.fillStyle = cssOf(palette.points[code]);
    context.fillRect(view.width, y - 10, 12, 12);
    context.fillStyle = cssOf(palette.ink);
    context.fillText(labels[line], view.width + 20, y + 1);
  });
  canvas.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = "hyplearn-explorer.png";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
}
