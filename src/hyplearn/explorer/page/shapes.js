// Outlines of markers around the origin, with about the area of the unit circle. The y axis points downwards.

// Half the width of the arms of a plus.
const ARM = 0.42;

function regular(corners, radius, turn) {
  return Array.from({ length: corners }, (_, k) => {
    const angle = turn + (2 * Math.PI * k) / corners;
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  });
}

function turned(outline, angle) {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return outline.map(([x, y]) => [cos * x - sin * y, sin * x + cos * y]);
}

const UP = -Math.PI / 2;
const PLUS = [
  [-ARM, -1.2], [ARM, -1.2], [ARM, -ARM], [1.2, -ARM], [1.2, ARM], [ARM, ARM],
  [ARM, 1.2], [-ARM, 1.2], [-ARM, ARM], [-1.2, ARM], [-1.2, -ARM], [-ARM, -ARM],
];
const STAR = Array.from({ length: 10 }, (_, k) => {
  const [radius, angle] = [k % 2 ? 0.66 : 1.5, UP + (Math.PI * k) / 5];
  return [radius * Math.cos(angle), radius * Math.sin(angle)];
});

// Outlines by shape. The outline of a circle is null, because it has no corners.
const OUTLINES = {
  circle: null,
  triangle: regular(3, 1.45, UP),
  square: regular(4, 1.25, Math.PI / 4),
  cross: turned(PLUS, Math.PI / 4),
  diamond: regular(4, 1.3, UP),
  plus: PLUS,
  star: STAR,
  "triangle-down": regular(3, 1.45, -UP),
};

export function outlineOf(shape) {
  return OUTLINES[shape] ?? null;
}

// Return whether a position is inside a polygon, by the even-odd rule.
export function isInside(polygon, x, y) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [ax, ay] = polygon[i];
    const [bx, by] = polygon[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

// Add a marker to the path of a canvas context or an SvgPen.
export function traceShape(pen, shape, x, y, radius) {
  const outline = outlineOf(shape);
  if (outline === null) {
    pen.moveTo(x + radius, y);
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    return;
  }
  outline.forEach(([dx, dy], k) => {
    if (k === 0) pen.moveTo(x + radius * dx, y + radius * dy);
    else pen.lineTo(x + radius * dx, y + radius * dy);
  });
  pen.closePath();
}
