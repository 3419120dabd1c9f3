"""Text of runs and of other processes as the window may show it: no control characters, and never as HTML."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any

from PySide6.QtGui import Qt

from mosaic.plain_text import plain, plain_line
from mosaic.spec.run_record import RunRecord

_LINES = ("label", "algo", "env_id", "group")
_TEXTS = ("reason", "notes")


def tip(text: str) -> str:
    """A tool tip. Qt takes one that looks like HTML for HTML, so that one is escaped."""
    shown = plain(text)
    return Qt.convertFromPlainText(shown) if Qt.mightBeRichText(shown) else shown


def in_html(text: str) -> str:
    """A part of a label that is HTML of our own."""
    return escape(plain_line(text))


def records(found: Sequence[RunRecord]) -> list[RunRecord]:
    """Runs as they come from the daemon, their texts made plain; a path, by which files are opened, stays as it is."""
    return list(map(_record, found))


def _record(found: RunRecord) -> RunRecord:
    texts: dict[str, Any] = {name: plain_line(getattr(found, name)) for name in _LINES}
    texts |= {name: plain(getattr(found, name)) for name in _TEXTS}
    texts["stderr_tail"] = tuple(map(plain, found.stderr_tail))
    return found if all(getattr(found, name) == text for name, text in texts.items()) else replace(found, **texts)
