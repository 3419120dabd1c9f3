"""The log of a run in one order of time: pages, what is found, what is counted, and how little is read for it."""

import os
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from mosaic.spec.events import Event, RunCompleted, RunStarted, Scalars, Warned, encode
from mosaic.spec.logs.log_line import LogLine, LogPlace
from mosaic.spec.logs.log_times import RECORD
from mosaic.spec.run_dir import RunDir, new_run_id
from mosaic.trainer.logs import merged_log
from mosaic.trainer.logs.line_file import BLOCK, chunks_after, chunks_before, line_start, lines_of
from mosaic.trainer.logs.log_sources import LogFilter, counted
from mosaic.trainer.logs.merged_log import MOST_LOOKED_AT, MergedLog, opened

T0 = 1.7e9
STARTED = RunStarted(algo="ppo", env_id="CartPole-v1", seed=1, total_timesteps=1000)


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    made = RunDir(tmp_path / new_run_id())
    made.create()
    return made


def write(run_dir: RunDir, name: str, lines: Sequence[tuple[float, str]]) -> None:
    """Printed lines with the time of each."""
    path, times = getattr(run_dir, name), getattr(run_dir, f"{name}_times")
    data, records = b"", [RECORD.pack(0.0, 0)]
    for time, text in lines:
        data += text.encode() + b"\n"
        records.append(RECORD.pack(T0 + time, len(data)))
    path.write_bytes(data)
    times.write_bytes(b"".join(records))
    os.utime(path, (T0 + 1e6, T0 + 1e6))


def write_events(run_dir: RunDir, events: Sequence[tuple[float, object]]) -> None:
    lines = [encode(Event(seq, T0 + time, body)) for seq, (time, body) in enumerate(events, start=1)]  # pyright: ignore[reportArgumentType]
    run_dir.events.write_text("\n".join(lines) + "\n" if lines else "")


@contextmanager
def log_of(run_dir: RunDir, *, live: bool = False) -> Iterator[MergedLog]:
    with opened(run_dir, {}, live=live) as log:
        yield log


def texts(lines: Sequence[LogLine]) -> list[str]:
    return [line.text for line in lines]


@pytest.fixture
def mixed(run_dir: RunDir) -> RunDir:
    write(run_dir, "stdout", [(1, "out 1"), (3, "out 3"), (3, "out 3b"), (9, "out 9")])
    write(run_dir, "stderr", [(2, "warning: err 2"), (3, "err 3")])
    events = [(0, STARTED), (2.5, Scalars(global_step=1, values={"a": 1.0})), (5, Warned(message="careful"))]
    write_events(run_dir, [*events, (8, RunCompleted(global_step=1000))])
    return run_dir


IN_ORDER = ["out 1", "warning: err 2", "out 3", "out 3b", "err 3", "careful", "finished · 1,000 steps", "out 9"]


def test_lines_of_all_files_come_in_one_order_of_time(mixed: RunDir) -> None:
    with log_of(mixed) as log:
        page = log.after(LogPlace(), LogFilter(), 100)
        assert texts(page.lines)[1:] == IN_ORDER
        assert page.lines[0].text.startswith("attempt 1 started")
        assert page.last == log.end
        assert [line.time - T0 for line in page.lines] == [0, 1, 2, 3, 3, 3, 5, 8, 9]
        assert texts(log.before(log.end, LogFilter(), 100).lines) == texts(page.lines)


def test_pages_backwards_and_forwards_are_the_whole_log_without_a_gap(run_dir: RunDir) -> None:
    seed = random.Random(3)
    for name in ("stdout", "stderr"):
        times = sorted(seed.randrange(300) for _ in range(400))
        write(
            run_dir, name, [(time, f"{name} {number} {'x' * seed.randrange(900)}") for number, time in enumerate(times)]
        )
    write_events(run_dir, [(time, Warned(message=f"event {time}")) for time in range(0, 300, 2)])
    with log_of(run_dir) as log:
        whole = log.after(LogPlace(), LogFilter(), 2000).lines
        assert len(whole) == 950
        assert [line.time for line in whole] == sorted(line.time for line in whole)
        place, forwards = LogPlace(), list[LogLine]()
        while not log.is_end(place, LogFilter()):
            page = log.after(place, LogFilter(), 37)
            place, forwards = page.last, [*forwards, *page.lines]
        place, backwards = log.end, list[LogLine]()
        while not log.is_start(place, LogFilter()):
            page = log.before(place, LogFilter(), 41)
            place, backwards = page.first, [*page.lines, *backwards]
        assert texts(forwards) == texts(backwards) == texts(whole)
        for line in seed.sample(list(whole), 40):
            place = log.place_of(line.source, getattr(line.place, line.source), line.time)
            assert place == line.place
            assert log.after(place, LogFilter(), 1).lines[0].text == line.text


def test_filters_keep_the_order_and_the_places(mixed: RunDir) -> None:
    with log_of(mixed) as log:
        assert texts(log.after(LogPlace(), LogFilter(severity=1), 100).lines) == ["warning: err 2", "careful"]
        only_err = LogFilter(frozenset({"stderr"}))
        page = log.before(log.end, only_err, 1)
        assert texts(page.lines) == ["err 3"]
        line = page.lines[0]
        place = log.place_of("stderr", line.place.stderr, line.time)
        assert texts(log.after(place, LogFilter(), 2).lines) == ["err 3", "careful"]
        found = log.after(LogPlace(), LogFilter(text="out 3"), 1)
        assert texts(found.lines) == ["out 3"]
        assert texts(log.after(found.last, LogFilter(text="out 3"), 5).lines) == ["out 3b"]


def test_a_log_without_times_stands_before_the_events(run_dir: RunDir) -> None:
    run_dir.stdout.write_text("old 1\nold 2\n")
    write_events(run_dir, [(0, Warned(message="event"))])
    with log_of(run_dir) as log:
        lines = log.before(log.end, LogFilter(), 10).lines
        assert [(line.text, line.time) for line in lines] == [("old 1", 0), ("old 2", 0), ("event", T0)]


def test_a_last_line_that_is_not_whole_waits_for_its_end_while_the_run_lives(run_dir: RunDir) -> None:
    run_dir.stdout.write_text("one\ntw")
    with log_of(run_dir, live=True) as log:
        page = log.after(LogPlace(), LogFilter(), 10)
        assert texts(page.lines) == ["one"]
    with log_of(run_dir) as log:
        assert texts(log.after(page.last, LogFilter(), 10).lines) == ["tw"]


def test_a_damaged_event_is_a_warning_in_its_place(run_dir: RunDir) -> None:
    good = encode(Event(1, T0, Warned(message="good")))
    run_dir.events.write_text(f"{good}\nnot an event\n{good.replace('good', 'later')}\n")
    with log_of(run_dir) as log:
        lines = log.after(LogPlace(), LogFilter(), 10).lines
        assert [line.level for line in lines] == ["WARN"] * 3
        assert lines[1].text.startswith("events.jsonl: ")
        assert [lines[0].text, lines[2].text] == ["good", "later"]


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17])
def test_a_file_without_line_feeds_is_cut_alike_in_both_directions(size: int) -> None:
    data = b"x" * size + b"\nshort\n" + b"y" * (2 * BLOCK + 3) + b"\n\nend"

    def read(offset: int, count: int) -> bytes:
        return data[offset : offset + count]

    forwards = [line for chunk in chunks_after(read, 0, len(data)) for line in lines_of(chunk)]
    backwards = [line for chunk in chunks_before(read, len(data)) for line in reversed(lines_of(chunk))]
    assert backwards[::-1] == forwards
    assert max(end - start for start, end, _ in forwards) <= 2 * BLOCK
    assert [start for start, _, _ in forwards][1:] == [end for _, end, _ in forwards][:-1]
    starts = {start for start, _, _ in forwards} | {len(data)}
    for offset in random.Random(1).sample(range(len(data) - 3), 6):
        assert line_start(read, offset) == max(start for start in starts if start <= offset)
    assert sum(counted_of(read, len(data))) == len(forwards)


def counted_of(read, size: int) -> Iterator[int]:  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]
    for chunk in chunks_after(read, 0, size):  # pyright: ignore[reportUnknownArgumentType]
        yield chunk[1].count(b"\n") + (not chunk[1].endswith(b"\n"))


@pytest.mark.parametrize("text", ["", "NEEDLE 7", "nädel", "red"])
def test_counts_are_those_of_looking_at_every_line(run_dir: RunDir, text: str) -> None:
    kinds = ("plain {}", "a needle {}", "\x1b[31mre\x1b[0md {}", "error: Nädel {}", "50%\r100% needle {}")
    write(run_dir, "stdout", [(n, kinds[n % 5].format(n)) for n in range(4000)])
    write_events(run_dir, [(n, Warned(message=f"needle {n}")) for n in range(100)])
    for severity in (0, 1):
        wanted = LogFilter(severity=severity, text=text.lower())
        with log_of(run_dir) as log:
            lines = fitting = 0
            for source in log.sources:
                for chunk in chunks_after(source.read, 0, source.size):
                    some, fit = counted(source, chunk, wanted)
                    lines, fitting = lines + some, fitting + fit
            place, found = LogPlace(), 0
            while not log.is_end(place, wanted):
                page = log.after(place, wanted, 2000)
                place, found = page.last, found + len(page.lines)
        assert (lines, fitting) == (4100, found)


class Reads:
    """Bytes that were read of files by their descriptors."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes = 0
        self._pread = os.pread
        monkeypatch.setattr(merged_log.os, "pread", self._read)

    def _read(self, descriptor: int, count: int, offset: int) -> bytes:
        data = self._pread(descriptor, count, offset)
        self.bytes += len(data)
        return data


def test_a_page_of_a_long_log_reads_a_few_blocks(run_dir: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 300 * 2**20
    with run_dir.stdout.open("wb") as file:  # A hole of 300 MB, and lines at its end.
        file.seek(size)
        file.write(b"\n" + b"".join(b"line %d\n" % number for number in range(20_000)))
    write_events(run_dir, [(n, Scalars(global_step=n, values={"a": 1.0})) for n in range(1000)])
    reads = Reads(monkeypatch)
    with log_of(run_dir) as log:
        page = log.before(log.end, LogFilter(), 400)
        assert texts(page.lines) == [f"line {number}" for number in range(19_600, 20_000)]
        assert reads.bytes < 6 * BLOCK
        reads.bytes = 0
        log.at_part(0.5)
        assert reads.bytes < 12 * BLOCK
        reads.bytes = 0
        found = log.before(log.end, LogFilter(text="line 12345"), 1)
        assert texts(found.lines) == ["line 12345"]
        line = found.lines[0]
        assert line.after.stdout - line.place.stdout == len("line 12345\n")
        reads.bytes = 0
        none = log.before(log.end, LogFilter(text="absent"), 1)
        assert not none.lines
        assert reads.bytes <= MOST_LOOKED_AT + 4 * BLOCK, "a call ends after a few megabytes"
        assert none.first.stdout < log.end.stdout


def test_a_part_of_a_log_that_shows_nothing_is_found_at_once(run_dir: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events of metrics are not lines of the log: a run may have hundreds of megabytes of them, and little else."""
    write(run_dir, "stdout", [(0, "begun"), (50_000, "over")])
    drawn = encode(Event(1, T0, Scalars(global_step=1, values={"a": 1.0})))
    with run_dir.events.open("w") as file:
        file.writelines(drawn.replace(f'"time":{T0}', f'"time":{T0 + n}') + "\n" for n in range(100_000))
    reads = Reads(monkeypatch)
    with log_of(run_dir) as log:
        for part, before in ((0.2, "begun"), (0.8, "over")):
            reads.bytes = 0
            place = log.at_part(part)
            assert reads.bytes < 40 * BLOCK
            assert place.events == pytest.approx(part * log.end.events, rel=1e-3)
            assert texts(log.before(place, LogFilter(), 1).lines) == [before]


@pytest.mark.parametrize("far", ["30000000", "9" * 5000])
@pytest.mark.parametrize("move", ["C", "G"])
def test_a_line_that_moves_far_to_the_right_fills_no_memory(run_dir: RunDir, far: str, move: str) -> None:
    """A terminal stops at its edge. A few bytes of a worker's must not become gigabytes in the daemon."""
    write(run_dir, "stdout", [(0, f"bar\r\x1b[{far}{move}end"), (1, "next")])
    with log_of(run_dir) as log:
        first, second = texts(log.before(log.end, LogFilter(), 2).lines)
    assert (first.split(), second) == (["bar", "end"], "next")
    assert len(first) < 2000
