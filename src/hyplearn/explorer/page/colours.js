// Colours of classes, regions and numbers, on a light or dark background.

// Share of the class colour in the tint of a region.
const TINT = { light: 0.2, dark: 0.3 };
// Factor by which tints are weakened if points are not coloured by class.
const WEAK = 0.5;
// Share of the background in the colour of points that are not highlighted.
const FADED = 0.78;
// Number of colours of the colour map for numbers.
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

// Return an opaque pixel of image data as a signed 32-bit integer. On little-endian machines, which browsers run on,
// its bytes are red, green, blue and alpha.
export function packed([r, g, b]) {
  return (255 << 24) | (b << 16) | (g << 8) | r;
}

// Return the colour at the given share (0 to 1) of the way along a list of colours, by linear interpolation.
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

  // Return the colours and shapes of styles on the current background.
  stylesOf(styles) {
    return styles.map(({ light, dark, shape }) => ({ colour: rgbOf(this.isDark ? dark : light), shape }));
  }

  faded(rgb) {
    return mixed(rgb, this.disk, FADED);
  }
}
