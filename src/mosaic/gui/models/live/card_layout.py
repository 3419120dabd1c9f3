"""Where the cards of a grid go: as large as a place allows, whatever its shape."""

from PySide6.QtCore import QRect, QSize

GAP = 10
WIDEST = 1.6
"""A card may be this much wider than its picture, black at both sides; it is never taller."""


def arranged(count: int, place: QRect, aspect: float, gap: int = GAP) -> list[QRect]:
    """Equal cards in the middle of a place, in as many columns as give pictures of this aspect the most room."""
    if count < 1:
        return []
    best: tuple[float, int] = (-1.0, 1)
    for columns in range(1, count + 1):
        width, height = _card(place, count, columns, gap)
        shown = min(width, height * aspect)
        # A grid without empty places is worth a little size.
        if count % columns:
            shown *= 0.92
        best = max(best, (shown, -columns))
    columns = -best[1]
    rows = -(-count // columns)
    width, height = _card(place, count, columns, gap)
    width, height = min(width, WIDEST * height * aspect), min(height, width / aspect)
    left = place.left() + (place.width() - columns * width - (columns - 1) * gap) / 2
    top = place.top() + (place.height() - rows * height - (rows - 1) * gap) / 2
    return [
        QRect(
            round(left + index % columns * (width + gap)),
            round(top + index // columns * (height + gap)),
            max(int(width), 1),
            max(int(height), 1),
        )
        for index in range(count)
    ]


def fitted(size: QSize, place: QRect) -> QRect:
    """The largest place of this size's aspect in the middle of another."""
    scale = min(place.width() / max(size.width(), 1), place.height() / max(size.height(), 1))
    width, height = max(round(size.width() * scale), 1), max(round(size.height() * scale), 1)
    return QRect(
        place.left() + (place.width() - width) // 2, place.top() + (place.height() - height) // 2, width, height
    )


def _card(place: QRect, count: int, columns: int, gap: int) -> tuple[float, float]:
    rows = -(-count // columns)
    return (place.width() - (columns - 1) * gap) / columns, (place.height() - (rows - 1) * gap) / rows
