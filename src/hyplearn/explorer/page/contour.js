// Regions as polygons, for vector graphics: cells of a grid, cut where the prediction changes along their sides.

const HALVINGS = 12;

const number = (value) => String(Number(value.toFixed(2)));
const pathOf = (places) => `M${places.map(([x, y]) => `${number(x)} ${number(y)}`).join("L")}`;

// Paths { fills: by code, lines } of the regions of a rectangle; `codeAt` is the code of a place.
export function contours(codeAt, width, height, step) {
  const fills = new Map();
  const lines = [];
  const add = (code, places) => fills.set(code, `${fills.get(code) ?? ""}${pathOf(places)}Z`);
  const columns = Math.ceil(width / step);
  const rowOf = (y) => Array.from({ length: columns + 1 }, (_, c) => codeAt(c * step, y));
  let above = rowOf(0);
  for (let top = 0; top < height; top += step) {
    const bottom = top + step;
    const below = rowOf(bottom);
    let start = null;
    for (let c = 0; c <= columns; c++) {
      const isPlain = c < columns && [above[c + 1], below[c], below[c + 1]].every((code) => code === above[c]);
      if (start !== null && !(isPlain && above[c] === above[start])) {
        add(above[start], [[start * step, top], [c * step, top], [c * step, bottom], [start * step, bottom]]);
        start = null;
      }
      if (isPlain) start ??= c;
      else if (c < columns) cut(codeAt, c * step, top, step, [above[c], above[c + 1], below[c + 1], below[c]], add, lines);
    }
    above = below;
  }
  return { fills, lines: lines.map(pathOf).join("") };
}

// Cut a cell whose corners, clockwise from the upper left, have these codes.
function cut(codeAt, left, top, step, codes, add, lines) {
  const corners = [[left, top], [left + step, top], [left + step, top + step], [left, top + step]];
  const next = (k) => (k + 1) % 4;
  const crossings = corners.map((corner, k) => (codes[k] === codes[next(k)] ? null : crossing(codeAt, corner, corners[next(k)], codes[k])));
  const found = crossings.filter((place) => place !== null);
  const middle = [0, 1].map((axis) => found.reduce((sum, place) => sum + place[axis], 0) / found.length);
  const centre = found.length > 2 ? [middle] : [];
  if (found.length > 2) found.forEach((place) => lines.push([place, middle]));
  else lines.push(found);
  crossings.forEach((first, k) => {
    if (first === null) return;
    // From one crossing to the next, around corners of one code.
    const places = [first];
    let at = next(k);
    for (; crossings[at] === null; at = next(at)) places.push(corners[at]);
    add(codes[at], [...places, corners[at], crossings[at], ...centre]);
  });
}

// Where the code of the first of two places ends on the way to the second.
function crossing(codeAt, from, to, code) {
  let [low, high] = [0, 1];
  const at = (share) => [from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])];
  for (let i = 0; i < HALVINGS; i++) {
    const half = (low + high) / 2;
    if (codeAt(...at(half)) === code) low = half;
    else high = half;
  }
  return at((low + high) / 2);
}
