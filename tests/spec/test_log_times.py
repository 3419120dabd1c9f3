"""When the lines of a log were printed: records beside it, which hold nothing up and break no old log."""

import os
import sys
from pathlib import Path

import pytest

from mosaic.spec.logs import log_times
from mosaic.spec.logs.log_times import RECORD, LogTimes, mark, times_of
from mosaic.spec.run_dir import RunDir, new_run_id


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    made = RunDir(tmp_path / new_run_id())
    made.create()
    return made


def print_at(run_dir: RunDir, text: str, time: float) -> None:
    with run_dir.stdout.open("a") as file:
        file.write(text)
    os.utime(run_dir.stdout, (time, time))


def records(run_dir: RunDir) -> list[tuple[float, int]]:
    return list(RECORD.iter_unpack(run_dir.stdout_times.read_bytes()))


def test_a_line_has_the_time_of_the_first_record_that_counts_it(run_dir: RunDir) -> None:
    mark(run_dir.stdout, run_dir.stdout_times)
    print_at(run_dir, "one\ntwo\n", 100.0)
    mark(run_dir.stdout, run_dir.stdout_times)
    mark(run_dir.stdout, run_dir.stdout_times)
    print_at(run_dir, "three\n", 200.0)
    mark(run_dir.stdout, run_dir.stdout_times)
    print_at(run_dir, "four\n", 300.0)
    assert records(run_dir) == [(0.0, 0), (100.0, 8), (200.0, 14)]
    with times_of(run_dir, run_dir.stdout, run_dir.stdout_times) as times:
        assert [times.at(end) for end in (4, 8, 14, 19)] == [100.0, 100.0, 200.0, 300.0]
        assert [times.bytes_before(time, 19, and_at=False) for time in (50, 100, 150, 200, 250, 301)] == [
            0,
            0,
            8,
            8,
            14,
            19,
        ]
        assert [times.bytes_before(time, 19, and_at=True) for time in (100, 200, 300)] == [8, 14, 19]


def test_an_old_log_has_no_times_and_a_resumed_one_has_those_of_its_new_lines(run_dir: RunDir) -> None:
    print_at(run_dir, "old\n", 100.0)
    with times_of(run_dir, run_dir.stdout, run_dir.stdout_times) as times:
        assert times.at(4) == 0.0
    mark(run_dir.stdout, run_dir.stdout_times)
    print_at(run_dir, "new\n", 200.0)
    mark(run_dir.stdout, run_dir.stdout_times)
    with times_of(run_dir, run_dir.stdout, run_dir.stdout_times) as times:
        assert [times.at(end) for end in (4, 8)] == [0.0, 200.0]


def test_a_clock_that_is_set_back_and_a_torn_record_spoil_nothing(run_dir: RunDir) -> None:
    mark(run_dir.stdout, run_dir.stdout_times)
    print_at(run_dir, "a\n", 200.0)
    mark(run_dir.stdout, run_dir.stdout_times)
    with run_dir.stdout_times.open("ab") as file:
        file.write(b"torn")
    print_at(run_dir, "b\n", 100.0)
    mark(run_dir.stdout, run_dir.stdout_times)
    assert records(run_dir) == [(0.0, 0), (200.0, 2), (200.0, 4)]


def test_a_process_marks_its_log_while_it_works(run_dir: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir.stdout.touch()
    with log_times.marking(run_dir):
        print_at(run_dir, "said\n", 100.0)
    assert records(run_dir)[-1] == (100.0, 5)


def test_a_log_without_room_for_its_times_is_no_reason_to_end(
    run_dir: RunDir, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log_times, "mark", full)
    with log_times.marking(run_dir):
        pass
    said = capsys.readouterr()
    assert "log.times_not_written" in said.out + said.err


def test_looking_up_a_time_reads_a_few_records_of_many(run_dir: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 100_000
    run_dir.stdout_times.write_bytes(b"".join(RECORD.pack(float(n), 10 * n) for n in range(count)))
    run_dir.stdout.touch()
    reads: list[int] = []
    pread = os.pread
    monkeypatch.setattr(sys.modules["os"], "pread", lambda *args: reads.append(args[1]) or pread(*args))
    with times_of(run_dir, run_dir.stdout, run_dir.stdout_times) as times:
        assert isinstance(times, LogTimes)
        assert times.at(500_001) == 50_001.0
    assert len(reads) < 25
    assert set(reads) == {RECORD.size}
