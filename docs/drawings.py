"""Draws who is seen in each family: ``python docs/drawings.py`` writes docs/images/seen/NAME.svg.

A full dot is seen, an empty one is not. No colour carries a meaning alone.
"""

from pathlib import Path

FOLDER = Path(__file__).parent / "images" / "seen"
WIDTH, INK, BLUE, RED, GREY = 640, "#1f2933", "#0b57a8", "#b3261e", "#6b7280"
#: Places of rows that are seen, of twelve in a line.
LIKELY = (11, 9, 7, 4, 1, 0)


def drawing(height, parts, title):
    said = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="14" fill="{INK}"><title>{title}</title>'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    )
    return "\n".join([said, *parts, "</svg>"]) + "\n"


def dot(x, y, seen=True, colour=BLUE):
    fill = colour if seen else "none"
    return f'<circle cx="{x}" cy="{y}" r="6" fill="{fill}" stroke="{colour}" stroke-width="1.6"/>'


def square(x, y, seen=True, colour=RED):
    fill = colour if seen else "none"
    return (
        f'<rect x="{x - 6}" y="{y - 6}" width="12" height="12" fill="{fill}" stroke="{colour}" '
        'stroke-width="1.6"/>'
    )


def text(x, y, words, colour=INK):
    return f'<text x="{x}" y="{y}" fill="{colour}">{words}</text>'


def line(x, y, to_x, to_y, dash=""):
    dash = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path d="M{x} {y}L{to_x} {to_y}" stroke="{GREY}" stroke-width="1.4" fill="none"{dash}/>'
    )


def selection_bias():
    parts = [text(12, 22, "little debt"), text(12, 212, "much debt")]
    for row, count in enumerate(LIKELY):
        y = 24 + 34 * row
        parts += [dot(130 + 24 * k, y, k < count) for k in range(12)]
    parts += [
        text(440, 24, "full: outcome is seen"),
        text(440, 58, "empty: no outcome"),
        text(440, 126, "few stand for many:"),
        text(440, 146, "they weigh more"),
        text(440, 198, "nobody is seen:"),
        text(440, 218, "bounds, no estimate", RED),
    ]
    return drawing(228, parts, "Who has an outcome: fewer, the more debt; in the last line nobody")


def subsampled_logs():
    parts = [text(12, 30, "clicked"), text(12, 92, "not clicked")]
    parts += [square(130 + 24 * k, 26) for k in range(6)]
    for row in range(4):
        parts += [dot(130 + 24 * k, 74 + 28 * row, (k + 7 * row) % 10 == 3) for k in range(20)]
    parts += [
        text(300, 30, "all are kept, and count 1"),
        text(130, 192, "one in ten is kept, by a coin of its own, and counts 10"),
    ]
    return drawing(206, parts, "A log keeps every click and one in ten of the rows without one")


def offers():
    parts = [line(170, 182, 610, 182)]
    asked = ((220, False), (330, False), (300, True), (470, True), (250, False), (560, True))
    for row, (x, came) in enumerate(asked):
        y = 20 + 27 * row
        parts += [text(12, y + 5, f"applicant {row + 1}"), line(170, y, 610, y, "2 5")]
        parts.append(dot(x, y, came) if came else square(x, y, came))
    parts += [
        text(170, 206, "no aid"),
        text(560, 206, "most aid"),
        text(12, 234, "each was asked once: full dot, came; empty square, did not"),
    ]
    return drawing(246, parts, "For each person the answer to one offer is seen, and to no other")


def balanced_filters():
    parts = [
        text(12, 24, "a sample: groups are seen"),
        text(340, 24, "people: groups are not seen"),
    ]
    for k in range(40):
        x, y = 24 + 26 * (k % 10), 50 + 28 * (k // 10)
        minor = k % 10 in (2, 6, 9)
        parts.append(square(x, y) if minor else dot(x, y))
        parts.append(dot(352 + 26 * (k % 10), y, k % 3 == 1, GREY))
    parts += [
        text(12, 172, "squares: a small group"),
        text(340, 172, "full: accepted, by columns"),
        text(340, 192, "that tell at most α of the group"),
    ]
    return drawing(206, parts, "Groups of a sample are known; of those to choose from they are not")


def constraints():
    parts = [text(12, 24, "rows of the fit"), text(400, 24, "new people")]
    for row, make in enumerate((dot, square)):
        y = 62 + 52 * row
        parts.append(text(12, y + 5, ("men", "women")[row]))
        parts += [
            make(90 + 24 * k, y, k in (0, 1, 2, 5, 7) or row == 0 and k == 9) for k in range(11)
        ]
    parts += [dot(412 + 24 * (k % 8), 62 + 52 * (k // 8), False, GREY) for k in range(16)]
    parts += [
        text(12, 160, "full: decided yes; the shares of"),
        text(12, 180, "both are held to the promise"),
        text(400, 160, "nobody tells the group: shares"),
        text(400, 180, "differ by chance, or more"),
    ]
    return drawing(194, parts, "Promises hold on rows of known groups; new people differ by chance")


def collect():
    parts = [text(12, 26, "have an outcome"), text(12, 80, "have none")]
    parts += [dot(170 + 24 * k, 22) for k in range(12)]
    for k in range(24):
        x, y = 170 + 24 * (k % 12), 76 + 28 * (k // 12)
        asked = k in (3, 8, 14, 17, 23)
        parts.append(square(x, y, k != 14) if asked else dot(x, y, False, GREY))
    parts += [
        text(12, 144, "squares: asked, each by a chance that is known; they answer for all"),
        text(12, 166, "the empty square gave no answer: how much that could matter is told"),
    ]
    return drawing(180, parts, "Of the rows without an outcome some are asked, by known chances")


DRAWN = (selection_bias, subsampled_logs, offers, balanced_filters, constraints, collect)

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for draw in DRAWN:
        (FOLDER / f"{draw.__name__}.svg").write_text(draw(), encoding="utf-8")
