// Colours on the ground of the page, light or dark: of classes, of the regions between them, and of numbers.

const TINT = { light: 0.2, dark: 0.3 };
// Under points whose colours mean something else the tints of classes are weaker.
const WEAK = 0.5;
// Share of the ground in points that are not spoken of.
const FADED = 0.78;
const STEPS = 256;

export function rgbOf(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

export function mixed(a, b, share) {
  return a.map((value, i) => Math.round(value + (b[i] - value) * share));
}

export function cssOf(rgb) {
  return `rgb(${rgb.join(",")})`;
}

// One pixel of image data, opaque, as a signed 32-bit integer; bytes are red, green, blue, alpha on every machine that browsers run on.
export function packed([r, g, b]) {
  return (255 << 24) | (b << 16) | (g << 8) | r;
}

// The colour at a share of the way along a list of colours.
function along(colours, share) {
  const at = share * (colours.length - 1);
  const k = Math.min(colours.length - 2, Math.floor(at));
  return mixed(colours[k], colours[k + 1], at - k);
}

export class Palette {
  constructor(scene) {
    this.scene = scene;
    this.isWeak = false;
    this.update(false);
  }

  update(isDark) {
    this.isDark = isDark;
    const style = getComputedStyle(document.documentElement);
    const read = (name) => rgbOf(style.getPropertyValue(name).trim());
    for (const name of ["ground", "disk", "ink"]) this[name] = read(`--${name}`);
    this.styles = this.stylesOf(this.scene.styles);
    this.points = this.styles.map((one) => one.colour);
    const share = (isDark ? TINT.dark : TINT.light) * (this.isWeak ? WEAK : 1);
    this.tints = this.points.map((colour) => mixed(this.disk, colour, share));
    this.packed = Object.fromEntries(["ground", "disk", "ink"].map((name) => [name, packed(this[name])]));
    this.packedTints = Int32Array.from(this.tints, packed);
    const ramp = this.scene.ramp[isDark ? "dark" : "light"].map(rgbOf);
    this.ramp = Array.from({ length: STEPS }, (_, k) => along(ramp, k / (STEPS - 1)));
    this.missing = rgbOf(this.scene.grey);
  }

  weaken(isWeak) {
    if (isWeak === this.isWeak) return;
    this.isWeak = isWeak;
    this.update(this.isDark);
  }

  // Colours and shapes as they are on this ground.
  stylesOf(styles) {
    return styles.map(({ light, dark, shape }) => ({ colour: rgbOf(this.isDark ? dark : light), shape }));
  }

  faded(rgb) {
    return mixed(rgb, this.disk, FADED);
  }
}
