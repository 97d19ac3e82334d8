"""Search for class colours that readers with and without colour blindness can distinguish.

``python experiments/colour_vision.py`` repeats the search and prints the tables of ``hyplearn.plotting.palette``.

The search considers four readers: one with normal vision, and three who each lack one type of cone, simulated by the
matrices of Machado, Oliveira and Fernandes (2009) on linear RGB. The distance of two colours is the smallest of their
CIEDE2000 differences for these readers. Contrast is defined as in WCAG 2.
"""

import numpy as np

# Matrices that map linear RGB to the linear RGB that a reader sees (severity 1).
READERS = {
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
RGB_TO_XYZ = np.array(
    [[0.4123908, 0.3575843, 0.1804808], [0.2126390, 0.7151687, 0.0721923], [0.0193308, 0.1191948, 0.9505322]]
)
WHITE = RGB_TO_XYZ.sum(axis=1)
# Matrices of Björn Ottosson's OKLab: to cone responses, and from their cube roots to lightness and two opponent axes.
CONES = np.array(
    [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
     [0.0883024619, 0.2817188376, 0.6299787005]]
)  # fmt: skip
OKLAB = np.array(
    [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
     [0.0259040371, 0.7827717662, -0.8086757660]]
)  # fmt: skip


def linear(colours):
    """Convert colours "#RRGGBB" to linear RGB, shape (n, 3)."""
    share = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def to_hex(rgb):
    """Convert linear RGB to the nearest colours "#RRGGBB"."""
    rgb = np.clip(rgb, 0, 1)
    share = np.where(rgb <= 0.0031308, 12.92 * rgb, 1.055 * rgb ** (1 / 2.4) - 0.055)
    return ["#" + "".join(f"{value:02X}" for value in row) for row in np.rint(255 * share).astype(int)]


def luminance(rgb):
    return rgb @ RGB_TO_XYZ[1]


def contrast(rgb, ground):
    """Return the WCAG contrast of colours against a background, from 1 to 21."""
    a, b = luminance(rgb) + 0.05, luminance(ground) + 0.05
    return np.maximum(a, b) / np.minimum(a, b)


def from_oklch(lightness, chroma, hue):
    """Convert lightness in [0, 1], chroma and hue in degrees to linear RGB, possibly outside the gamut of screens."""
    turn = np.radians(hue)
    lab = np.stack([lightness + 0 * turn, chroma * np.cos(turn), chroma * np.sin(turn)], axis=-1)
    return (lab @ np.linalg.inv(OKLAB).T) ** 3 @ np.linalg.inv(CONES).T


def seen(rgb, reader):
    """Return the linear RGB of colours as one reader sees them."""
    return np.clip(rgb @ np.array(READERS[reader]).T, 0, 1)


def to_lab(rgb):
    """Convert linear RGB to CIELAB."""
    share = rgb @ RGB_TO_XYZ.T / WHITE
    root = np.where(share > (6 / 29) ** 3, np.cbrt(share), share / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = np.moveaxis(root, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def ciede2000(first, second):
    """CIEDE2000 difference of CIELAB colours, in the notation of Sharma, Wu and Dalal (2005)."""
    mean_chroma = (np.hypot(*np.moveaxis(first[..., 1:], -1, 0)) + np.hypot(*np.moveaxis(second[..., 1:], -1, 0))) / 2
    stretch = 1.5 - 0.5 * np.sqrt(mean_chroma**7 / (mean_chroma**7 + 25.0**7))
    (L1, C1, h1), (L2, C2, h2) = (_polar(colour, stretch) for colour in (first, second))
    grey = C1 * C2 == 0
    turn = np.where(grey, 0, (h2 - h1 + 180) % 360 - 180)
    dL, dC, dH = L2 - L1, C2 - C1, 2 * np.sqrt(C1 * C2) * np.sin(np.radians(turn / 2))
    L, C = (L1 + L2) / 2, (C1 + C2) / 2
    h = np.where(grey, h1 + h2, h1 + turn / 2)
    T = sum(
        factor * np.cos(np.radians(times * h + shift))
        for factor, times, shift in ((1, 0, 0), (-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63))
    )
    S_L = 1 + 0.015 * (L - 50) ** 2 / np.sqrt(20 + (L - 50) ** 2)
    S_C, S_H = 1 + 0.045 * C, 1 + 0.015 * C * T
    blue = 60 * np.exp(-((((h % 360) - 275) / 25) ** 2))
    R_T = -2 * np.sqrt(C**7 / (C**7 + 25.0**7)) * np.sin(np.radians(blue))
    return np.sqrt((dL / S_L) ** 2 + (dC / S_C) ** 2 + (dH / S_H) ** 2 + R_T * (dC / S_C) * (dH / S_H))


def _polar(lab, stretch):
    L, a, b = np.moveaxis(lab, -1, 0)
    return L, np.hypot(stretch * a, b), np.degrees(np.arctan2(b, stretch * a)) % 360


def distances(rgb, reader):
    """Return the CIEDE2000 differences of all pairs of colours for one reader, of shape (n, n)."""
    lab = to_lab(seen(rgb, reader))
    return ciede2000(lab[:, None], lab[None, :])


def least_distances(rgb):
    """Return the smallest difference of each pair of colours over all readers; the diagonal is infinite."""
    found = np.min([distances(rgb, reader) for reader in READERS], axis=0)
    np.fill_diagonal(found, np.inf)
    return found


def to_oklch(rgb):
    """Convert linear RGB to lightness, chroma and hue in degrees."""
    L, a, b = (np.cbrt(rgb @ CONES.T) @ OKLAB.T).T
    return np.stack([L, np.hypot(a, b), np.degrees(np.arctan2(b, a)) % 360], axis=-1)


def quality(P):
    """Objective of the search: mainly the smallest distance, then the distances of the closest pairs and the chroma."""
    rgb, pairs = np.clip(from_oklch(*P.T), 0, 1), np.triu_indices(len(P), 1)
    least, normal = np.sort(least_distances(rgb)[pairs]), np.sort(distances(rgb, "normal")[pairs])
    closest = slice(len(P))
    # For readers with normal vision, who are the majority, the smallest difference should be 1.6 times as large.
    worst = min(least[0], 0.62 * normal[0])
    return worst + 0.05 * least[closest].mean() + 0.02 * normal[closest].mean() + 3 * P[:, 1].mean()


def search(start, ground, *, least_contrast, lightness, chroma, turn, seed, steps=6000):
    """Find distant colours near ``start`` (rows of OKLCH, the first two fixed) by simulated annealing."""
    rng, P = np.random.default_rng(seed), np.array(start, dtype=float)
    hue, best = P[:, 2].copy(), quality(np.array(start, dtype=float))
    for step in range(steps):
        left = 1 - step / steps
        i, Q = rng.integers(2, len(P)), P.copy()
        Q[i] += (np.array([0.06, 0.04, 12]) * left + [0.003, 0.003, 0.6]) * rng.standard_normal(3)
        Q[i, :2] = np.clip(Q[i, 0], *lightness), np.clip(Q[i, 1], *chroma)
        rgb = from_oklch(*Q[i])
        is_shown = np.all((rgb >= -1e-4) & (rgb <= 1 + 1e-4)) and contrast(rgb, ground) >= least_contrast
        if abs((Q[i, 2] - hue[i] + 180) % 360 - 180) > turn or not is_shown:
            continue
        found = quality(Q)
        if found > best or rng.random() < np.exp((found - best) / (0.3 * left**2 + 1e-9)):
            P, best = Q, found
    return to_hex(from_oklch(*P.T))


def choose_light():
    """Choose colours for a white background; blue and orange are given. Seed 17 was the best of 24."""
    given = to_oklch(linear(["#2A3FB8", "#E8660C"]))
    # Green, wine, sky, olive, pink, purple, teal, brown.
    near = [
        [0.55, 0.13, 150], [0.38, 0.14, 5], [0.64, 0.14, 240], [0.58, 0.12, 108],
        [0.64, 0.19, 355], [0.48, 0.20, 300], [0.50, 0.09, 195], [0.40, 0.09, 60],
    ]  # fmt: skip
    limits = {"least_contrast": 3.05, "lightness": (0.30, 0.70), "chroma": (0.085, 0.21), "turn": 20}
    found = search([*given, *near], linear(["#FFFFFF"])[0], **limits, seed=17)
    return [found[i] for i in (0, 1, 8, 3, 4, 2, 9, 6, 7, 5)]


def choose_dark(light, ground="#191C22"):
    """Choose colours of nearly the same hues for a dark background. Seed 0 of 16 is closest to the light colours."""
    near = to_oklch(linear(light))
    near[:, 0], near[:, 1] = np.clip(near[:, 0] + 0.22, 0.58, 0.93), np.clip(near[:, 1], 0.05, 0.12)
    near[:2] = to_oklch(linear(["#6B86FF", "#F48A21"]))
    limits = {"least_contrast": 3.2, "lightness": (0.50, 0.93), "chroma": (0.05, 0.17), "turn": 20}
    return search(near, linear([ground])[0], **limits, seed=0)


def even_steps(knots, n=17):
    """Colours on a curve through knots (rows of OKLCH), spaced by equal CIEDE2000 differences."""
    at = np.linspace(0, 1, 2001)
    curve = np.stack([np.interp(at, np.linspace(0, 1, len(knots)), column) for column in np.transpose(knots)])
    rgb = np.clip(from_oklch(*curve), 0, 1)
    lab = to_lab(rgb)
    length = np.concatenate([[0], np.cumsum(ciede2000(lab[:-1], lab[1:]))])
    return to_hex(rgb[np.searchsorted(length, np.linspace(0, length[-1], n) * (1 - 1e-12))])


def main():
    light = choose_light()
    for name, found in (
        ("LIGHT", light),
        ("DARK", choose_dark(light)),
        ("RAMP_LIGHT", even_steps([[0.65, 0.11, 165], [0.52, 0.11, 220], [0.40, 0.13, 275], [0.27, 0.13, 305]])),
        ("RAMP_DARK", even_steps([[0.54, 0.13, 300], [0.63, 0.12, 235], [0.78, 0.12, 175], [0.93, 0.16, 110]])),
    ):
        print(name, found)


if __name__ == "__main__":
    main()
