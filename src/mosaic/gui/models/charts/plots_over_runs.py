"""The runs that are drawn as dots and as lines over their settings and metrics; one that lacks a value is not drawn."""

import math
from collections.abc import Callable, Sequence

from mosaic.errors import MosaicError
from mosaic.gui.models.charts.chart_layout import ChartSpec, column_title
from mosaic.gui.models.charts.charts_model import Member
from mosaic.gui.models.charts.dot_plots import Axis, Line, Parallel, Plot, Point, limits, number_axis, share_of
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.wording import number
from mosaic.rpc.client import Client
from mosaic.run_table import fetched_values
from mosaic.run_table.fetched_values import RunValues
from mosaic.run_table.filter_expression import needed
from mosaic.run_table.run_columns import Value, text_of
from mosaic.run_table.table_rows import TableRows
from mosaic.spec.run_record import RunRecord

DECADES = 100
"""From the lowest to the highest of positive numbers, from which on their axis is logarithmic."""
AGAIN_S = 5.0
"""Metrics of runs that go on are asked for no more often."""


class ValuesOfRuns:
    """Settings and metrics of the runs that are drawn, fetched beside the window where a chart needs them."""

    def __init__(self, link: DaemonLink, came: Callable[[], object]) -> None:
        self._link, self._came = link, came
        self.rows = TableRows()
        self._asking = False
        self._asked_at: dict[str, float] = {}
        self._then: Callable[[], object] | None = None
        self.revision = 0
        """Grows whenever a value came."""

    def take(self, records: Sequence[RunRecord]) -> None:
        self.rows.take(records)

    def keep(self, run_ids: Sequence[str]) -> None:
        self.rows.remove([record.run_id for record in self.rows.records if record.run_id not in run_ids])

    def want(self, columns: Sequence[str], *, now: float, grows: bool) -> None:
        """Ask for what these columns need and is not there, and again for metrics that may have grown."""
        if self._asking or self._link.state != "connected" or not len(self.rows):
            return
        settings, tags = needed(columns)
        if settings and (ids := self.rows.without_settings()):
            self._ask(ids, settings=True)
            return
        for tag in tags:
            ids = self.rows.without_metric(tag)
            is_old = grows and now - self._asked_at.get(tag, 0.0) > AGAIN_S
            if ids or is_old:
                self._asked_at[tag] = now
                self._ask([record.run_id for record in self.rows.records] if is_old else ids, metrics=[tag])
                return

    def want_settings(self, then: Callable[[], object]) -> None:
        """`then` when settings that no chart has needed so far are there; a later wish takes the place of this one."""
        self._then = then
        if not self._asking:
            self._go_on()

    def _go_on(self) -> None:
        if self._then is None:
            return
        if not (ids := self.rows.without_settings()):
            then, self._then = self._then, None
            then()
        elif self._link.state == "connected":
            self._ask(ids, settings=True)

    def _ask(self, ids: Sequence[str], *, settings: bool = False, metrics: Sequence[str] = ()) -> None:
        self._asking = True

        def ask(client: Client) -> list[list[RunValues]]:
            return list(fetched_values.pages(client, ids, settings=settings, metrics=metrics))

        def came(pages: list[list[RunValues]]) -> None:
            self._asking = False
            for page in pages:
                fetched_values.put(self.rows, page)
            there = {run.run_id for page in pages for run in page}
            for run_id in ids:
                # One that cannot be read is not asked for again and again.
                if run_id not in there and settings:
                    self.rows.take_settings(run_id, {})
                if run_id not in there and metrics:
                    self.rows.take_metrics(run_id, dict.fromkeys(metrics))
            self.revision += 1
            self._go_on()
            self._came()

        def failed(error: MosaicError) -> None:  # noqa: ARG001 (the status bar says that the daemon is gone)
            self._asking = False

        self._link.call(ask, came, failed)

    def value(self, run_id: str, name: str) -> Value:
        row = self.rows.row_of(run_id)
        return None if row is None else self.rows.value(row, name)


class _Scale:
    """Where the values of a column stand on an axis: numbers by size, texts beside one another."""

    def __init__(self, name: str, values: Sequence[Value]) -> None:
        self.title = column_title(name)
        given = [value for value in values if value is not None]
        self._numbers = all(_is_number(value) for value in given)
        # A run that diverged must not take the room of all others.
        finite = [float(value) for value in given if isinstance(value, (int, float)) and math.isfinite(value)]
        self._low = self._high = 0.0
        self._log = False
        self._texts: list[str] = []
        if self._numbers and finite:
            self._low, self._high = min(finite), max(finite)
            # Settings are tried over decades.
            self._log = self._low > 0 and self._high / self._low >= DECADES
            if self._low == self._high:
                self._low, self._high = limits(finite)
        elif not self._numbers:
            self._texts = sorted({text_of(value) for value in given})

    @property
    def axis(self) -> Axis:
        if self._numbers:
            return number_axis(f"{self.title} (log)" if self._log else self.title, self._low, self._high)
        last = max(len(self._texts) - 1, 1)
        marks = tuple((place / last, text) for place, text in enumerate(self._texts))
        return Axis(self.title, marks[0][1], marks[-1][1], marks) if marks else Axis(self.title, "", "")

    def place(self, value: Value) -> float | None:
        if value is None:
            return None
        if self._numbers and isinstance(value, (int, float)):
            if not math.isfinite(value):
                return None
            scale = math.log10 if self._log else float
            found = share_of(scale(value), scale(self._low), scale(self._high))
            return found if found == found else None
        return self._texts.index(text_of(value)) / max(len(self._texts) - 1, 1)


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def scatter_of(spec: ChartSpec, members: Sequence[Member], values: ValuesOfRuns) -> tuple[Plot, str]:
    """The plot, and what of it is missing in words."""
    found = [(member, values.value(member.run_id, spec.x), values.value(member.run_id, spec.y)) for member in members]
    x_scale, y_scale = _Scale(spec.x, [x for _, x, _ in found]), _Scale(spec.y, [y for _, _, y in found])
    points: list[Point] = []
    for member, x, y in reversed(found):
        at_x, at_y = x_scale.place(x), y_scale.place(y)
        if at_x is not None and at_y is not None:
            text = f"{member.name}\n{x_scale.title} {shown(x)}\n{y_scale.title} {shown(y)}"
            points.append(Point(at_x, at_y, text, colour=member.colour, run_id=member.run_id))
    return Plot(points, x_scale.axis, y_scale.axis), _missing(len(points), len(members))


def parallel_of(spec: ChartSpec, members: Sequence[Member], values: ValuesOfRuns) -> tuple[Parallel, str]:
    table = {member.run_id: [values.value(member.run_id, name) for name in spec.columns] for member in members}
    scales = [_Scale(name, [row[at] for row in table.values()]) for at, name in enumerate(spec.columns)]
    lines: list[Line] = []
    for member in reversed(members):
        places = tuple(scale.place(value) for scale, value in zip(scales, table[member.run_id], strict=True))
        if sum(place is not None for place in places) >= 2:
            parts = [f"{scale.title} {shown(one)}" for scale, one in zip(scales, table[member.run_id], strict=True)]
            text = "\n".join([member.name, *parts])
            lines.append(Line(places, colour=member.colour, text=text, run_id=member.run_id))
    whole = sum(None not in line.places for line in lines)
    return Parallel([scale.axis for scale in scales], lines), _missing(whole, len(members))


def shown(value: Value) -> str:
    if value is None:
        return "is not there"
    return number(float(value)) if isinstance(value, float) else text_of(value)


def _missing(drawn: int, in_all: int) -> str:
    return "" if drawn == in_all else f"{drawn} of {in_all} runs have every value"
