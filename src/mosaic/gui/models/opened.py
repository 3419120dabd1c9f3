"""A run that is looked at: its whole spool, its output and its config, read bit by bit and then as they grow."""

from mosaic import config
from mosaic.errors import MosaicError, SpoolCorrupt
from mosaic.gui.models.batch import Detail, LogLine, Opened, Points, Stretch
from mosaic.gui.models.stat import changed_ns
from mosaic.gui.models.wording import line_of_event, line_of_output
from mosaic.spec import manifest
from mosaic.spec.events import Episode, EvalBatch, Event, RunStarted, Scalars, decode
from mosaic.spec.run_dir import RunDir
from mosaic.spec.spool_reader import LineReader

SLICE_BYTES = 128 * 1024
"""Of the spool at a time: decoding it takes some 30 ms."""
OUTPUT_BYTES = 1024 * 1024


class OpenedRun:
    """Hands out what is new at each look."""

    def __init__(self, run_dir: RunDir) -> None:
        self.run_dir = run_dir
        self.problems: list[str] = []
        """Lines that are no events; whoever reads them empties the list."""
        self.has_more = True
        self._spool = LineReader(run_dir.events)
        self._outputs = (LineReader(run_dir.stdout), LineReader(run_dir.stderr))
        self._next_seq = 1
        self._detail_changed = (0, 0)

    def read(self) -> Opened | None:
        lines = [
            line_of_output(line, source)
            for source, reader in zip(("stdout", "stderr"), self._outputs, strict=True)
            for line in reader.new_lines(OUTPUT_BYTES)
        ]
        raw = self._spool.new_lines(SLICE_BYTES)
        restarted, self._spool.restarted = self._spool.restarted, False
        if restarted:
            self._next_seq = 1
        self.has_more = sum(map(len, raw)) >= SLICE_BYTES // 2
        stretches = self._take(raw, lines)
        detail = self._detail()
        if not (raw or lines or detail or restarted):
            return None
        return Opened(self.run_dir.run_id, restarted, stretches, tuple(lines), detail)

    def _take(self, raw: list[bytes], lines: list[LogLine]) -> tuple[Stretch, ...]:
        stretches = [Stretch()]
        for line in raw:
            try:
                event = decode(line)
            except SpoolCorrupt as error:
                self._complain(str(error), lines)
                self._next_seq += 1
                continue
            if event.seq != self._next_seq:
                self._complain(f"event {self._next_seq} is missing: the next one has seq {event.seq}", lines)
            self._next_seq = event.seq + 1
            if isinstance(event.body, RunStarted) and event.body.resumed_from_step is not None:
                stretches.append(Stretch(event.body.resumed_from_step))
            _add(event, stretches[-1].points)
            if (shown := line_of_event(event)) is not None:
                lines.append(shown)
        return tuple(stretch for stretch in stretches if stretch.points or stretch.resumed_from is not None)

    def _complain(self, problem: str, lines: list[LogLine]) -> None:
        self.problems.append(problem)
        lines.append(LogLine("events", f"events.jsonl: {problem}", "WARN"))

    def _detail(self) -> Detail | None:
        files = (self.run_dir.config, self.run_dir.manifest)
        try:
            changed = (changed_ns(files[0]), changed_ns(files[1]))
            if changed == self._detail_changed:
                return None
            self._detail_changed = changed
            document = config.loads(files[0].read_bytes(), what=str(files[0])) if changed[0] else {}
            artifacts = manifest.read(self.run_dir).artifacts if changed[1] else ()
        except FileNotFoundError:
            return None
        except MosaicError as error:
            self.problems.append(str(error))
            return None
        return Detail(str(self.run_dir.root), document, artifacts)


def _add(event: Event, points: dict[str, Points]) -> None:
    match event.body:
        case Scalars(global_step=step, values=values):
            for tag, value in values.items():
                points.setdefault(tag, Points()).add(step, event.time, float(value))
        case Episode() as body:
            for tag, value in (
                ("charts/episodic_return", body.episodic_return),
                ("charts/episodic_length", body.episodic_length),
            ):
                points.setdefault(tag, Points()).add(body.global_step, event.time, float(value))
        case EvalBatch(batch=batch, mean=mean):
            points.setdefault("eval/mean_return", Points()).add(batch, event.time, float(mean))
        case _:
            pass
