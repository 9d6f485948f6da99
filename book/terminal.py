# SPDX-License-Identifier: MIT OR Apache-2.0
"""terminal.py TITLE: what "tmux capture-pane -e -p" prints, as SVG.

A run of characters of one style is a text of its own, with the width of its cells: columns stay in line whatever
fonts a reader has.
"""

import re
import sys
from html import escape

FONT = '"DejaVu Sans Mono",Menlo,Consolas,monospace'
SIZE, CELL, LINE, EDGE = 14, 8.4, 18, 14
BACKGROUND, FOREGROUND = "#171c22", "#dfe5ea"
# The 16 colours of a terminal, readable on the background
COLOURS = "#4b5560 #f2777a #8fce7c #e9c46a #7aa9f7 #d79bea #5cc8d8 #dfe5ea".split()
BRIGHT = "#8b97a3 #ff8f92 #a9e697 #ffd97d #99bfff #e6b3f5 #7fe0ee #ffffff".split()
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m|\x1b[()][A-Z0-9]|[\x0e\x0f]")


def palette(number):
    """Colour of the 256 of terminals."""
    if number < 16:
        return (COLOURS + BRIGHT)[number]
    if number < 232:
        parts = [(number - 16) // scale % 6 for scale in (36, 6, 1)]
        return "#" + "".join(f"{55 + 40 * part if part else 0:02x}" for part in parts)
    return "#" + f"{8 + 10 * (number - 232):02x}" * 3


def colour(codes):
    """Colour after 38 or 48: takes its codes off the list."""
    if codes.pop(0) == 5:
        return palette(codes.pop(0))
    return "#" + "".join(f"{codes.pop(0):02x}" for _ in range(3))


def changed(style, codes):
    """The style after a sequence of SGR codes."""
    style, codes = dict(style), [int(code or 0) for code in codes.split(";")]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = {}
        elif code in (1, 2, 4, 7):
            style[code] = True
        elif code in (22, 24, 27):
            for off in {22: (1, 2), 24: (4,), 27: (7,)}[code]:
                style.pop(off, None)
        elif code in (38, 48):
            style["text" if code == 38 else "back"] = colour(codes)
        elif code in (39, 49):
            style.pop("text" if code == 39 else "back", None)
        elif code // 10 in (3, 4, 9, 10):
            colours = BRIGHT if code >= 90 else COLOURS
            style["text" if code // 10 in (3, 9) else "back"] = colours[code % 10]
    return style


def runs(line, style):
    """(column, text, style) of each run of a line, and the style after it."""
    column, found, at = 0, [], 0
    for match in [*ESCAPE.finditer(line), None]:
        text = line[at : match.start() if match else None]
        if text:
            found.append((column, text, style))
            column += len(text)
        if match:
            at = match.end()
            style = changed(style, match[1]) if match[1] is not None else style
    return found, style


def drawn(column, row, text, style):
    """A run as SVG; spaces between words of a table are left out."""
    text_colour, back = style.get("text", FOREGROUND), style.get("back")
    if style.get(7):
        text_colour, back = back or BACKGROUND, text_colour
    top = EDGE + LINE * row
    if back:
        yield f'<rect x="{EDGE + CELL * column:.1f}" y="{top}" width="{CELL * len(text):.1f}" height="{LINE}" fill="{back}"/>'
    look = "" if text_colour == FOREGROUND else f' fill="{text_colour}"'
    look += ' font-weight="bold"' if style.get(1) else ""
    look += ' opacity="0.7"' if style.get(2) else ""
    look += ' text-decoration="underline"' if style.get(4) else ""
    for word in re.finditer(r"\S+(?: \S+)*", text):
        place = f'x="{EDGE + CELL * (column + word.start()):.1f}" y="{top + 13.5}"'
        yield f'<text {place}{look} textLength="{CELL * len(word[0]):.1f}">{escape(word[0])}</text>'


def main():
    lines = sys.stdin.read().rstrip("\n").split("\n")
    style, body, columns = {}, [], 0
    for row, line in enumerate(lines):
        found, style = runs(line.rstrip(), style)
        columns = max([columns, *(column + len(text.rstrip()) for column, text, _ in found)])
        body += [part for run in found for part in drawn(run[0], row, *run[1:])]
    width, height = 2 * EDGE + CELL * columns, 2 * EDGE + LINE * len(lines)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" role="img">')
    print(f"<title>{escape(sys.argv[1])}</title>")
    print(f"<style>text{{font:{SIZE}px {FONT};white-space:pre}}</style>")
    print(f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>', f'<g fill="{FOREGROUND}">', *body, "</g></svg>", sep="\n")


main()
