"""Events reach the disk in order and without a gap; a disk that cannot take them ends the run, a mirror does not."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from strict_spool import decode_spool

from cleanrl_worker.sdk.record.event_recorder import EventRecorder
from cleanrl_worker.sdk.record.spool import Spool
from mosaic.errors import HomeUnusable
from mosaic.spec.events import Event, Heartbeat, RunFailed, RunStarted, Warned, encode


def note(text: str) -> Warned:
    return Warned(message=text)


def start(attempt: int = 1) -> RunStarted:
    return RunStarted(algo="ppo", env_id="CartPole-v1", seed=1, total_timesteps=9, attempt=attempt)


def read(path: Path) -> list[Event]:
    with path.open("rb") as lines:
        return list(decode_spool(lines))


class Mirror:
    """Remembers; breaks if told to."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.broken = False
        self.closed = False

    def write(self, events: Sequence[Event]) -> None:
        if self.broken:
            raise BrokenPipeError(32, "Broken pipe")
        self.events += events

    def close(self) -> None:
        self.closed = True


class FullSpool(Spool):
    """Its disk is full after some writes."""

    room = 1

    def write(self, events: Sequence[Event]) -> None:
        self.room -= 1
        if self.room < 0:
            self._file.write(b'{"v":1,"se')  # What still fitted.
            raise OSError(28, "No space left on device")
        super().write(events)


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.fixture
def mirror() -> Mirror:
    return Mirror()


def quiet() -> None:
    return None


def test_events_are_written_in_order_to_the_spool_and_its_mirrors(spool: Path, mirror: Mirror) -> None:
    recorder = EventRecorder(Spool(spool), [mirror], beat=quiet)
    for number in range(1000):
        recorder.emit(note(str(number)))
    recorder.close()
    assert recorder.error is None
    assert [event.body for event in read(spool)] == [note(str(number)) for number in range(1000)]
    assert mirror.closed
    assert [(event.seq, event.body) for event in mirror.events] == [(event.seq, event.body) for event in read(spool)]


def test_events_of_several_threads_get_each_a_number(spool: Path) -> None:
    recorder = EventRecorder(Spool(spool), [], beat=quiet)

    def emit(name: str) -> None:
        for number in range(500):
            recorder.emit(note(f"{name}{number}"))
            if number % 100 == 0:
                recorder.flush()

    threads = [threading.Thread(target=emit, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close()
    messages = [event.body.message for event in read(spool) if isinstance(event.body, Warned)]
    assert len(messages) == 1500
    for name in "abc":
        assert [text for text in messages if text[0] == name] == [f"{name}{number}" for number in range(500)]


def test_flush_waits_until_the_events_are_there(spool: Path) -> None:
    recorder = EventRecorder(Spool(spool), [], beat=quiet)
    recorder.emit(note("now"))
    recorder.flush()
    assert [event.body for event in read(spool)] == [note("now")]
    recorder.close()


def test_the_recorder_beats_by_itself(spool: Path) -> None:
    beaten = threading.Event()

    def beat() -> Heartbeat | None:
        if beaten.is_set():
            return None
        beaten.set()
        return Heartbeat(global_step=7, steps_per_s=1.0)

    recorder = EventRecorder(Spool(spool), [], beat=beat)
    assert beaten.wait(300)
    recorder.close()
    assert [event.body for event in read(spool)] == [Heartbeat(global_step=7, steps_per_s=1.0)]


def test_nothing_beats_after_the_end(spool: Path) -> None:
    """The run ends in the very moment in which its heart is asked."""
    asked = threading.Event()

    def beat() -> Heartbeat | None:
        if asked.is_set():
            return None
        recorder.emit(RunFailed(global_step=7, error="TrainingFailed", message="nan"))
        asked.set()
        return Heartbeat(global_step=7, steps_per_s=1.0)

    recorder = EventRecorder(Spool(spool), [], beat=beat)
    assert asked.wait(300)
    recorder.close()
    assert [type(event.body) for event in read(spool)] == [RunFailed]


def test_a_full_disk_ends_the_record_and_is_kept_for_the_learner(spool: Path, mirror: Mirror) -> None:
    recorder = EventRecorder(FullSpool(spool), [mirror], beat=quiet)
    recorder.emit(note("fits"))
    recorder.flush()
    recorder.emit(note("does not fit"))
    with pytest.raises(HomeUnusable, match=r"events.jsonl could not be written.*No space left"):
        recorder.flush()
    recorder.emit(note("nor does this"))
    with pytest.raises(HomeUnusable):
        recorder.flush()
    recorder.close()
    assert isinstance(recorder.error, HomeUnusable)
    assert [event.body for event in read(spool)] == [note("fits")]
    assert [event.body for event in mirror.events] == [note("fits")]


def test_an_error_of_the_recorders_own_thread_is_kept_too(spool: Path) -> None:
    recorder = EventRecorder(Spool(spool), [], beat=lambda: 1 / 0)
    recorder._thread.join(120)
    recorder.close()
    assert isinstance(recorder.error, ZeroDivisionError)


def test_a_broken_mirror_is_left_with_a_warning_and_the_record_goes_on(spool: Path, mirror: Mirror) -> None:
    other = Mirror()
    recorder = EventRecorder(Spool(spool), [mirror, other], beat=quiet)
    recorder.emit(note("one"))
    recorder.flush()
    mirror.broken = True
    recorder.emit(note("two"))
    recorder.close()
    warning = note("Mirror gets no more events: [Errno 32] Broken pipe; events.jsonl has them all")
    assert [event.body for event in read(spool)] == [note("one"), note("two"), warning]
    assert [event.body for event in other.events] == [note("one"), note("two"), warning]
    assert recorder.error is None


def test_the_spool_goes_on_where_earlier_attempts_ended(spool: Path) -> None:
    for attempt in (1, 2, 3):
        opened = Spool(spool)
        assert (opened.attempts, opened.last_seq) == (attempt - 1, 2 * (attempt - 1))
        recorder = EventRecorder(opened, [], beat=quiet)
        recorder.emit(start(attempt))
        recorder.emit(note("x"))
        recorder.close()
    assert [event.seq for event in read(spool)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("torn", [b"{", b'{"v":1,"seq":3,"time"', encode(Event(3, 0.0, note("y"))).encode()])
def test_a_torn_last_line_is_cut_off(torn: bytes, spool: Path) -> None:
    lines = "".join(encode(Event(seq, 0.0, note("x"))) + "\n" for seq in (1, 2))
    spool.write_bytes(lines.encode() + torn)
    opened = Spool(spool)
    assert opened.last_seq == 2
    opened.write([Event(3, 0.0, note("again"))])
    opened.close()
    assert [event.body for event in read(spool)] == [note("x"), note("x"), note("again")]


def test_a_spool_that_is_nothing_but_a_torn_line_begins_anew(spool: Path) -> None:
    spool.write_bytes(b'{"v":1')
    opened = Spool(spool)
    opened.close()
    assert (opened.last_seq, spool.read_bytes()) == (0, b"")


def test_a_spool_with_a_gap_is_gone_on_with(spool: Path) -> None:
    spool.write_text("".join(encode(Event(seq, 0.0, note("x"))) + "\n" for seq in (1, 3, 4)))
    opened = Spool(spool)
    opened.close()
    assert opened.last_seq == 4
