// Encode a mask as a short string for the URL: the lengths of its alternating runs of 0 and 1, in base64.

// Each byte contains seven bits of a length; its eighth bit is set if more bytes of this length follow.
const BITS = 7;
const MORE = 1 << BITS;

export function runsOf(mask) {
  const bytes = [];
  let value = 0;
  let start = 0;
  const end = (i) => {
    let length = i - start;
    for (; length >= MORE; length >>>= BITS) bytes.push((length % MORE) + MORE);
    bytes.push(length);
    start = i;
    value = 1 - value;
  };
  for (let i = 0; i < mask.length; i++) if (mask[i] !== value) end(i);
  if (value === 1) end(mask.length);
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// Decode a string to the indices of the elements that are 1; return null if it is not valid for a mask of n elements.
export function readRuns(text, n) {
  if (!/^[\w-]*$/.test(text) || text.length % 4 === 1) return null;
  const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const found = [];
  let value = 0;
  let start = 0;
  let length = 0;
  let unit = 1;
  for (let k = 0; k < bytes.length; k++) {
    const byte = bytes.charCodeAt(k);
    length += (byte % MORE) * unit;
    unit *= MORE;
    if (start + length > n) return null;
    if (byte >= MORE) continue;
    if (value === 1) for (let i = start; i < start + length; i++) found.push(i);
    [start, length, unit, value] = [start + length, 0, 1, 1 - value];
  }
  return found;
}
