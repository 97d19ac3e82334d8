// Colours of classes on the ground of the page, light or dark.

const TINT = { light: 0.2, dark: 0.3 };
const ENOUGH_CONTRAST = 3.2;

export function rgbOf(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

export function mixed(a, b, share) {
  return a.map((value, i) => Math.round(value + (b[i] - value) * share));
}

export function cssOf(rgb) {
  return `rgb(${rgb.join(",")})`;
}

function luminance(rgb) {
  const [r, g, b] = rgb.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

// On a dark ground the darkest colours are lightened until they can be seen; black becomes white.
function visible(rgb, ground) {
  if (Math.max(...rgb) - Math.min(...rgb) < 10 && contrast(rgb, ground) < 2) return [238, 238, 238];
  let colour = rgb;
  for (let share = 0.05; contrast(colour, ground) < ENOUGH_CONTRAST && share < 1; share += 0.05) {
    colour = mixed(rgb, [255, 255, 255], share);
  }
  return colour;
}

export class Palette {
  constructor(hexes) {
    this.hexes = hexes;
    this.dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.update();
  }

  update() {
    const isDark = this.dark.matches;
    const style = getComputedStyle(document.documentElement);
    const read = (name) => rgbOf(style.getPropertyValue(name).trim());
    this.ground = read("--ground");
    this.disk = read("--disk");
    this.ink = read("--ink");
    this.points = this.hexes.map((hex) => (isDark ? visible(rgbOf(hex), this.disk) : rgbOf(hex)));
    this.tints = this.points.map((colour) => mixed(this.disk, colour, isDark ? TINT.dark : TINT.light));
    this.packed = Object.fromEntries(["ground", "disk"].map((name) => [name, packed(this[name])]));
    this.packedTints = Int32Array.from(this.tints, packed);
  }
}

// One pixel of image data, opaque, as a signed 32-bit integer; bytes are red, green, blue, alpha on every machine that browsers run on.
export function packed([r, g, b]) {
  return (255 << 24) | (b << 16) | (g << 8) | r;
}
