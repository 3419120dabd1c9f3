"""Tab goes through a window as the eye does: top to bottom, left to right, panel by panel."""

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractScrollArea, QScrollArea, QTabBar, QWidget


def stops(root: QWidget) -> Iterator[QWidget]:
    """Where Tab stops inside a widget, in the order in which it is read."""
    for child in _read(root):
        if _is_stop(child):
            yield child
        # What can be edited is one stop, whatever it is made of.
        if not _is_stop(child) or type(child) is QScrollArea:
            yield from stops(child)


def neighbour(root: QWidget, of: QWidget | None, *, forward: bool) -> QWidget | None:
    """The next stop, or the one before it; beyond the last comes the first."""
    order = list(stops(root))
    if not order:
        return None
    at = next((place for place, stop in enumerate(order) if of is stop or (of and stop.isAncestorOf(of))), None)
    if at is None:
        return order[0 if forward else -1]
    # Inside a scroll area that is a stop itself, the innermost counts.
    inner = [place for place, stop in enumerate(order) if stop is of]
    return order[((inner or [at])[0] + (1 if forward else -1)) % len(order)]


def _is_stop(widget: QWidget) -> bool:
    takes_tab = bool(widget.focusPolicy().value & Qt.FocusPolicy.TabFocus.value)
    if not takes_tab or not widget.isEnabled() or widget.focusProxy() is not None:
        return False
    if isinstance(widget, QTabBar):
        return widget.count() > 1
    return not (type(widget) is QScrollArea and next(stops(widget), None) is not None)


def _read(root: QWidget) -> list[QWidget]:
    """The children that are seen: those beside one another from left to right, those below after those above."""
    if isinstance(root, QAbstractScrollArea):
        inner = root.widget() if isinstance(root, QScrollArea) else None
        return [inner] if inner is not None and inner.isVisible() else []
    children = [child for child in root.children() if isinstance(child, QWidget) and _is_seen(child)]
    left = sorted(children, key=lambda child: (child.y(), child.x()))
    found: list[QWidget] = []
    while left:
        first = left[0]
        line = [child for child in left if child.y() < first.y() + max(first.height(), 2) / 2]
        found += sorted(line, key=lambda child: child.x())
        left = [child for child in left if child not in line]
    return found


def _is_seen(widget: QWidget) -> bool:
    """A dock behind another is not hidden by Qt but moved out of sight."""
    if not widget.isVisible() or widget.isWindow():
        return False
    parent = widget.parentWidget()
    return parent is None or not parent.rect().intersected(widget.geometry()).isEmpty()
