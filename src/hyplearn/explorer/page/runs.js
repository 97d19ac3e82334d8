// A mask as a short text for an address: the lengths of its runs of 0 and of 1 in turn, in base64.

// Seven bits of a length in each byte; the eighth says that more follow.
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

// The indices that a text stands for; null if it makes no sense for a mask of n entries.
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
