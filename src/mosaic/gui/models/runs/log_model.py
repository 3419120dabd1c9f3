"""The log of one run: a few pages of it around what is looked at, in order of time, whatever its length.

The daemon reads, filters, finds and counts; here are at most `MOST_LINES` lines and `MOST_TEXT` characters. Pages are
asked for as the view comes near an edge, and those at the other edge are let go.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, QTimer, Signal

from mosaic.gui.models.daemon.log_request import LogAnswer, LogCounted, LogFilter, LogFound, LogPage, LogRequest, Where
from mosaic.spec.logs.log_line import SOURCES, Level, LogLine, LogPlace, LogSource
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

PAGE = 400
"""Lines that are asked for at once."""
MOST_LINES = 3000
MOST_TEXT = 2 * 2**20
"""Characters, of all lines that are kept."""
FOLLOW_MS = 400
"""Between two looks whether a log that is seen to its end has grown."""

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class LogModel(QAbstractListModel):
    """Rows are the lines that are there; `is_start` and `is_end` say whether the log goes on beyond them."""

    asked = Signal(object)
    """A LogRequest for the daemon."""
    counting = Signal(str, object)
    """The run and the LogFilter whose lines are to be counted."""
    changed = Signal()
    """The count, or what was found."""
    jumped = Signal(int, bool)
    """Another part of the log is there: the row to be seen, and whether it was looked for."""

    def __init__(self) -> None:
        super().__init__()
        self.run_id = ""
        self.filter = LogFilter()
        """Of the lines that are shown."""
        self.text = ""
        """What is looked for."""
        self.only_found = False
        """Lines without that text are not shown."""
        self.first = self.last = LogPlace()
        self.is_start = self.is_end = True
        self.total_bytes = 0
        self.count: LogCounted | None = None
        self.outcome = ""
        """Of the last search for the next line, as text for the user; empty while it goes on, and once it is there."""
        self.follows = True
        """New lines are wanted although the view is full of them."""
        self._lines: list[LogLine] = []
        self._characters = 0
        self._pending: LogRequest | None = None
        self._is_found = False
        self._revision = -1
        self._is_live = False
        self._look_again = QTimer(self, singleShot=True, interval=FOLLOW_MS)
        self._look_again.timeout.connect(self._look_for_more)

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._lines)

    def line(self, row: int) -> LogLine:
        return self._lines[row]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        return self.line(index.row()).text if role == Qt.ItemDataRole.DisplayRole else None

    @property
    def longest(self) -> int:
        """Characters of the longest line that is there."""
        return max((len(line.text) for line in self._lines), default=0)

    @property
    def is_looking(self) -> bool:
        return self._pending is not None

    def open(self, run_id: str) -> None:
        """Another run, or none: its end."""
        if run_id == self.run_id:
            return
        self.run_id = run_id
        self._revision, self._is_live = -1, False
        self._clear()
        self.to_end()
        self._count()

    def heard_of(self, record: RunRecord) -> None:
        """What is known of the run has changed: its log may have grown."""
        if record.run_id == self.run_id and record.revision != self._revision:
            self._revision = record.revision
            self._is_live = record.state not in TERMINAL
            self._look_for_more()

    def narrow(
        self, *, sources: Sequence[LogSource] | None = None, level: Level | None = None, near: LogLine | None = None
    ) -> None:
        """Show lines of these sources alone, at least as severe; near this one, or at the end."""
        wanted = replace(
            self.filter,
            sources=self.filter.sources if sources is None else tuple(name for name in SOURCES if name in sources),
            level=self.filter.level if level is None else level,
        )
        self._show(wanted, near)

    def look_for(self, text: str, *, near: LogLine | None = None) -> None:
        """Count the lines with this text; where only those are shown, show them."""
        self.text, self.outcome = text, ""
        self.count = None
        self._count()
        if self.only_found:
            self._show(replace(self.filter, text=text), near)
        self.changed.emit()

    def show_only_found(self, only: bool, *, near: LogLine | None = None) -> None:
        self.only_found = only
        self._show(replace(self.filter, text=self.text if only else ""), near)

    def to_next(self, place: LogPlace, *, backwards: bool) -> None:
        """Go to the next line with the text, from this place on."""
        if not self.text or not self.filter.sources:
            return
        self.outcome = ""
        self._ask("previous" if backwards else "next", place=place, wanted=replace(self.filter, text=self.text))

    def to_end(self) -> None:
        self._ask("end", before=PAGE)

    def to_line(self, line: LogLine) -> None:
        self._ask("line", line=line, before=PAGE // 2, after=PAGE // 2)

    def to_part(self, part: float) -> None:
        """To where this part of the log's bytes lies before: 0 is its start."""
        self._ask("part", part=part, before=PAGE // 2, after=PAGE // 2)

    def more_before(self) -> None:
        if self._pending is None and not self.is_start:
            self._ask("before", place=self.first, before=PAGE)

    def more_after(self) -> None:
        if self._pending is None and not self.is_end:
            self._ask("after", place=self.last, after=PAGE)

    def take(self, answer: LogAnswer) -> None:
        """What the daemon says; what is not waited for any more is dropped."""
        if isinstance(answer, LogCounted):
            if answer.run_id == self.run_id and answer.filter == self._counted_filter:
                self.count = answer
                self.changed.emit()
            return
        if answer.request is not self._pending:
            return
        self._pending = None
        self.total_bytes = answer.total_bytes
        if isinstance(answer, LogFound):
            self._take_found(answer)
        else:
            self._take_page(answer)
        self.changed.emit()

    def _take_found(self, found: LogFound) -> None:
        request = found.request
        if found.line is not None:
            self._ask("line", line=found.line, before=PAGE // 2, after=PAGE // 2, found=True)
        elif found.over:
            self.outcome = "none above" if request.where == "previous" else "none below"
        else:
            self._ask(request.where, place=found.reached, wanted=request.filter)

    def _take_page(self, page: LogPage) -> None:
        where = page.request.where
        if where == "before":
            self._put_before(page)
        elif where == "after":
            self._put_after(page)
        else:
            self.beginResetModel()
            self._lines = list(page.lines)
            self._characters = sum(len(line.text) for line in self._lines)
            self.first, self.last = page.first, page.last
            self.is_start, self.is_end = page.is_start, page.is_end
            self.endResetModel()
            self.jumped.emit(min(page.lines_before, max(len(self._lines) - 1, 0)), self._is_found)
        # Few lines fit: a reply says how far it looked, and there may be more beyond.
        if not page.lines and where in ("before", "end"):
            self.more_before()
        elif not page.lines and where != "after":
            self.more_after()
        if self.is_end and self._is_live:
            self._look_again.start()

    def _put_before(self, page: LogPage) -> None:
        self.first, self.is_start = page.first, page.is_start
        if not page.lines:
            self.more_before()
            return
        self.beginInsertRows(_NOWHERE, 0, len(page.lines) - 1)
        self._lines[:0] = page.lines
        self._characters += sum(len(line.text) for line in page.lines)
        self.endInsertRows()
        spare = self._spare(reversed(self._lines))
        if spare:
            kept = len(self._lines) - spare
            self.last, self.is_end = self._lines[kept].place, False
            self._remove(kept, len(self._lines))

    def _put_after(self, page: LogPage) -> None:
        self.last, self.is_end = page.last, page.is_end
        if not page.lines:
            self.more_after()
            return
        self.beginInsertRows(_NOWHERE, len(self._lines), len(self._lines) + len(page.lines) - 1)
        self._lines += page.lines
        self._characters += sum(len(line.text) for line in page.lines)
        self.endInsertRows()
        spare = self._spare(self._lines)
        if spare:
            self.first, self.is_start = self._lines[spare].place, False
            self._remove(0, spare)

    def _spare(self, lines: Iterable[LogLine]) -> int:
        """How many of these, from their first on, are more than what is kept; a page is kept in any case."""
        count, characters, spare = len(self._lines), self._characters, 0
        for line in lines:
            if count - spare <= PAGE or (count - spare <= MOST_LINES and characters <= MOST_TEXT):
                break
            spare, characters = spare + 1, characters - len(line.text)
        return spare

    def _remove(self, start: int, stop: int) -> None:
        self.beginRemoveRows(_NOWHERE, start, stop - 1)
        self._characters -= sum(len(line.text) for line in self._lines[start:stop])
        del self._lines[start:stop]
        self.endRemoveRows()

    def _look_for_more(self) -> None:
        """Whether the log has grown; not where its end is out of sight and enough is there."""
        if not self.is_end or not self.run_id or not self.filter.sources:
            return
        if self._pending is not None:
            self._look_again.start()
        elif self.follows or len(self._lines) < MOST_LINES:
            self._ask("after", place=self.last, after=PAGE)
        else:
            self.is_end = False

    def _show(self, wanted: LogFilter, near: LogLine | None) -> None:
        if wanted == self.filter:
            return
        self.filter = wanted
        self._count()
        if not wanted.sources:
            self._clear()
        elif near is not None:
            self.to_line(near)
        else:
            self.to_end()
        self.changed.emit()

    @property
    def _counted_filter(self) -> LogFilter:
        return replace(self.filter, text=self.text)

    def _count(self) -> None:
        self.count = None
        if self.run_id:
            self.counting.emit(self.run_id, self._counted_filter)
        self.changed.emit()

    def _clear(self) -> None:
        self.beginResetModel()
        self._lines = []
        self._characters = self.total_bytes = 0
        self.first = self.last = LogPlace()
        self.is_start = self.is_end = True
        self._pending = None
        self.count, self.outcome = None, ""
        self.endResetModel()

    def _ask(
        self,
        where: Where,
        *,
        before: int = 0,
        after: int = 0,
        place: LogPlace | None = None,
        line: LogLine | None = None,
        part: float = 0.0,
        wanted: LogFilter | None = None,
        found: bool = False,
    ) -> None:
        if not self.run_id or not self.filter.sources:
            return
        self._is_found = found
        self._pending = LogRequest(
            self.run_id, where, wanted or self.filter, before, after, place or LogPlace(), line, part
        )
        self.asked.emit(self._pending)
