"""Fonts and icons that travel with the window: Inter, JetBrains Mono (OFL) and Lucide (ISC)."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QFont, QFontDatabase, QIcon, QPainter, QPixmap, QPixmapCache
from PySide6.QtSvg import QSvgRenderer

from mosaic.gui.theme import Theme

_HERE = Path(__file__).parent
_SCALE = 3
"""Icons are rendered this much larger than they are shown, for dense screens."""


def load_fonts() -> None:
    """Once a process, after the application was made."""
    for file in sorted((_HERE / "fonts").glob("*.[ot]tf")):
        QFontDatabase.addApplicationFont(str(file))


def text_font() -> QFont:
    font = QFont("Inter")
    font.setPixelSize(13)
    font.setStyleStrategy(QFont.StyleStrategy.PreferAntialias)
    return font


def mono_font() -> QFont:
    font = QFont("JetBrains Mono")
    font.setPixelSize(12)
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setFeature(QFont.Tag("calt"), 0)  # ligatures would turn "--flag" into a dash
    return font


def pixmap(theme: Theme, name: str, token: str = "muted", size: int = 16) -> QPixmap:
    """A Lucide icon in a colour of the theme; drawn once, then taken from Qt's cache."""
    colour = theme.colour(token).name()
    key = f"{name} {colour} {size}"
    image = QPixmap()
    if QPixmapCache.find(key, image):
        return image
    drawn = _source(name).replace("currentColor", colour)
    renderer = QSvgRenderer(QByteArray(drawn.encode()))
    image = QPixmap(size * _SCALE, size * _SCALE)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    renderer.render(painter, QRectF(0, 0, size * _SCALE, size * _SCALE))
    painter.end()
    image.setDevicePixelRatio(_SCALE)
    QPixmapCache.insert(key, image)
    return image


def keep_icon(theme: Theme, name: str, show: Callable[[QIcon], object], token: str = "muted") -> None:
    """Show an icon now and again whenever the theme changes."""

    def paint() -> None:
        show(QIcon(pixmap(theme, name, token)))

    def paint_again() -> None:
        try:
            paint()
        except RuntimeError:  # How PySide says that the widget is gone: so this is no longer needed.
            theme.changed.disconnect(paint_again)

    paint()
    theme.changed.connect(paint_again)


@cache
def _source(name: str) -> str:
    return (_HERE / "icons" / f"{name}.svg").read_text(encoding="utf-8")
