"""Contrast of colours, as the Web Content Accessibility Guidelines define it."""

import numpy as np


def luminance(rgb):
    """Relative luminance of sRGB colours of 0 to 255, from 0 to 1."""
    share = np.asarray(rgb) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    low, high = np.sort([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)
