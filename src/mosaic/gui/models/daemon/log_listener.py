"""The log of the current run: what it prints, and its events except for those that the curves show."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import MosaicError, SpoolCorrupt
from mosaic.gui.models.daemon.daemon_listener import DaemonListener
from mosaic.gui.models.daemon.gathered_messages import Gathered
from mosaic.gui.models.daemon.news import Batch, Detail, LogLine, NewLines, Notice
from mosaic.gui.models.wording import line_of_event, line_of_output
from mosaic.rpc.client import Client, Refused
from mosaic.rpc.locate import DaemonUnavailable
from mosaic.rpc.trainer_pb2 import EventLine
from mosaic.spec.events import CheckpointSaved, Episode, Heartbeat, PolicySaved, Scalars, VideoSaved, decode
from mosaic.spec.manifest import Artifact, ArtifactKind
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

Output: TypeAlias = Literal["stdout", "stderr"]
PIECE = 4000
"""Lines handed over at once: a few milliseconds of the GUI thread."""
BUSY_S = 0.02
IDLE_S = 0.25
DRAWN = (Scalars.kind, Episode.kind, Heartbeat.kind)
"""Kinds that the curves and the list show."""
SAVED = (CheckpointSaved, PolicySaved, VideoSaved)
MOST_COMPLAINTS = 20


@dataclass(eq=False)
class Following:
    """How far the window has the log of a run."""

    run_id: str
    offsets: dict[Output, int] = field(default_factory=lambda: {"stdout": 0, "stderr": 0})
    begun: dict[Output, bytes] = field(default_factory=lambda: {"stdout": b"", "stderr": b""})
    """A line whose end has not come yet."""
    seq: int = 0
    complaints: list[bytes] = field(default_factory=list[bytes])
    """Lines that are no events; the daemon sends those behind `seq` again after a loss."""
    revisions: dict[str, int] = field(default_factory=dict[str, int])
    """Of the record when a stream had been read to its end; as long as that is the newest, there is no more."""
    is_closed: bool = False
    """Another run is looked at: what is still under way is dropped."""


class LogListener:
    """Three ears of one run; each goes on where it was when the daemon comes back."""

    def __init__(self, post: Callable[[Batch, Following], None], records: Mapping[str, RunRecord]) -> None:
        self._post = post
        self._records = records
        self._following: Following | None = None

    def follow(self, run_id: str) -> bool:
        """Look at this run, or at none; whether that is another one. In the GUI thread."""
        before = self._following
        if run_id == (before.run_id if before else ""):
            return False
        if before:
            before.is_closed = True
        self._following = Following(run_id) if run_id else None
        return True

    def hear_stdout(self, listener: DaemonListener, client: Client) -> float:
        return self._hear("stdout", lambda following: self._output("stdout", following, listener, client))

    def hear_stderr(self, listener: DaemonListener, client: Client) -> float:
        return self._hear("stderr", lambda following: self._output("stderr", following, listener, client))

    def hear_events(self, listener: DaemonListener, client: Client) -> float:
        return self._hear("events", lambda following: self._events(following, listener, client))

    def _hear(self, name: str, read: Callable[[Following], None]) -> float:
        following = self._following
        record = self._records.get(following.run_id) if following else None
        if following is None or record is None or following.revisions.get(name) == record.revision:
            return IDLE_S
        try:
            read(following)
        except Refused as refused:
            if refused.status != "NOT_FOUND":  # deleted: the stream of changes will say so
                raise
        if following.is_closed:
            return 0.0
        following.revisions[name] = record.revision
        return IDLE_S

    def _output(self, source: Output, following: Following, listener: DaemonListener, client: Client) -> None:
        stream = client.logs(following.run_id, stream=source, offset=following.offsets[source], follow=True)
        listener.reading(stream)
        for chunk in stream:
            *whole, rest = (following.begun[source] + chunk).split(b"\n")
            self._hand_over(following, listener, [line_of_output(line, source) for line in whole])
            following.begun[source] = rest
            following.offsets[source] += len(chunk)
        record = self._records.get(following.run_id)
        if (begun := following.begun[source]) and record is not None and record.state in TERMINAL:
            following.begun[source] = b""
            self._hand_over(following, listener, [line_of_output(begun, source)])

    def _hand_over(self, following: Following, listener: DaemonListener, lines: Sequence[LogLine]) -> None:
        for start in range(0, len(lines), PIECE):
            self._post(Batch(lines=(NewLines(following.run_id, tuple(lines[start : start + PIECE])),)), following)
            listener.wait(BUSY_S)

    def _events(self, following: Following, listener: DaemonListener, client: Client) -> None:
        self._post(detail_of(following.run_id, client), following)
        stream = client.watch_event_lines(following.run_id, after_seq=following.seq, without_kinds=DRAWN)
        listener.reading(stream)
        for lines in Gathered(stream):
            saved = self._take(following, lines)
            if saved and not following.is_closed:
                self._post(detail_of(following.run_id, client), following)
            listener.wait(BUSY_S)

    def _take(self, following: Following, lines: Sequence[EventLine]) -> bool:
        """Hand over some events; whether something was saved."""
        shown: list[LogLine] = []
        notices: list[Notice] = []
        saved = False
        for line in lines:
            try:
                event = decode(line.json)
                if not line.seq:
                    raise SpoolCorrupt(f"event {event.seq} is not in its place")
            except SpoolCorrupt as error:
                for complaint in _complaints(following, line.json, error):
                    notices.append(Notice(complaint, following.run_id))
                    shown.append(LogLine("events", complaint, "WARN"))
                continue
            saved |= isinstance(event.body, SAVED)
            if (said := line_of_event(event)) is not None:
                shown.append(said)
        news = (NewLines(following.run_id, tuple(shown)),) if shown else ()
        self._post(Batch(lines=news, notices=tuple(notices)), following)
        following.seq = max((line.seq for line in lines), default=following.seq) or following.seq
        return saved


def _complaints(following: Following, line: bytes, error: SpoolCorrupt) -> Iterator[str]:
    known = following.complaints
    if line in known or len(known) > MOST_COMPLAINTS:
        return
    known.append(line)
    if len(known) <= MOST_COMPLAINTS:
        yield f"events.jsonl: {error}"
    else:
        yield f"events.jsonl: more lines that are no events; the first {MOST_COMPLAINTS} are shown"


def detail_of(run_id: str, client: Client) -> Batch:
    """As a piece of news; what cannot be read is a notice."""
    notices: list[Notice] = []
    document: JsonObject = {}
    artifacts: tuple[Artifact, ...] = ()
    try:
        artifacts = tuple(
            Artifact(
                kind=cast(ArtifactKind, item.kind),
                path=item.path,
                label=item.label,
                global_step=item.global_step if item.HasField("global_step") else None,
            )
            for item in client.artifacts(run_id)
        )
        if damage := client.manifest_damage(run_id):
            notices.append(Notice(damage, run_id))
        if data := _config(run_id, client):
            document = config.loads(data, what="config.json")
    except DaemonUnavailable:
        raise
    except MosaicError as error:
        notices.append(Notice(str(error), run_id))
    return Batch(details=(Detail(run_id, document, artifacts),), notices=tuple(notices))


def _config(run_id: str, client: Client) -> bytes:
    """Empty for a run that a person started without one."""
    try:
        return b"".join(client.read_artifact(run_id, "config.json"))
    except Refused as refused:
        if refused.status == "INVALID_ARGUMENT":
            return b""
        raise
