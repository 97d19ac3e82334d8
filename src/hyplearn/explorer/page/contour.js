// Regions as polygons for vector graphics. They consist of the cells of a grid, which are cut where the prediction
// changes along their sides.

// Number of bisection steps with which the position of a cut is found.
const HALVINGS = 12;

const number = (value) => String(Number(value.toFixed(2)));
const pathOf = (places) => `M${places.map(([x, y]) => `${number(x)} ${number(y)}`).join("L")}`;

// Return SVG paths for a rectangle: `fills` maps each code to the path of its region, and `lines` is the path of the
// lines between regions. codeAt(x, y) is the code at a position.
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

// Cut a cell into polygons; `codes` are the codes of its corners, clockwise from the upper left.
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
    // The polygon goes from one crossing to the next, around the corners with the same code.
    const places = [first];
    let at = next(k);
    for (; crossings[at] === null; at = next(at)) places.push(corners[at]);
    add(codes[at], [...places, corners[at], crossings[at], ...centre]);
  });
}

// Return the position between two positions at which the code of the first one ends.
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
