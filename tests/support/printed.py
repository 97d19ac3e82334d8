"""Read the pictures of PDF files that chromium prints."""

import re
import zlib

import numpy as np

STREAM = re.compile(rb"<<((?:[^<>]|<<[^<>]*>>)*?/Length (\d+)[^<>]*)>>\s*stream\r?\n")
MATRIX = rb"([-.\d]+) 0 0 ([-.\d]+) ([-.\d]+) ([-.\d]+) cm\n"


def pictures(pdf):
    """Pixels of each picture, and its box on the page: left, bottom, right and top, in points."""
    streams = [(match[1], pdf[match.end() : match.end() + int(match[2])]) for match in STREAM.finditer(pdf)]
    pixels = [_pixels(head, data) for head, data in streams if b"/Subtype /Image" in head]
    contents = [zlib.decompress(data) for head, data in streams if head.startswith(b"/Filter /FlateDecode\n/Length")]
    boxes = [box for content in contents if re.match(MATRIX, content) for box in _boxes(content)]
    return list(zip(pixels, boxes, strict=True))


def page_sizes(pdf):
    """Width and height of each page, in points."""
    return [(float(width), float(height)) for width, height in re.findall(rb"/MediaBox \[0 0 ([.\d]+) ([.\d]+)\]", pdf)]


def _pixels(head, data):
    width, height = (int(re.search(rb"/%s (\d+)" % name, head)[1]) for name in (b"Width", b"Height"))
    return np.frombuffer(zlib.decompress(data), dtype=np.uint8).reshape(height, width, 3)


def _boxes(content):
    """Boxes in which a page draws pictures: the first matrix is that of the page, the last one before ``Do`` theirs."""
    page = [float(value) for value in re.match(MATRIX, content).groups()]
    for drawn in re.finditer(MATRIX + rb"(?:(?! cm\n).)*?/X\d+ Do", content, flags=re.DOTALL):
        width, height, left, bottom = (float(value) for value in drawn.groups())
        x = [page[2] + page[0] * value for value in (left, left + width)]
        y = [page[3] + page[1] * value for value in (bottom, bottom + height)]
        yield x[0], y[0], x[1], y[1]
