"""The log of the current run, asked for in pages, and what the run has left behind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import MosaicError, SpoolCorrupt
from mosaic.gui.models.daemon.daemon_listener import DaemonListener
from mosaic.gui.models.daemon.gathered_messages import Gathered
from mosaic.gui.models.daemon.log_request import LogCounted, LogFilter, LogFound, LogPage, LogRequest
from mosaic.gui.models.daemon.news import Batch, Detail, Notice
from mosaic.rpc.client import Client, Refused
from mosaic.rpc.locate import DaemonUnavailable
from mosaic.rpc.trainer_pb2 import CountLogRequest, EventLine
from mosaic.spec.events import CheckpointSaved, PolicySaved, VideoSaved, decode
from mosaic.spec.logs.log_line import DRAWN
from mosaic.spec.manifest import Artifact, ArtifactKind
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

BUSY_S = 0.02
IDLE_S = 0.25
SAVED = (CheckpointSaved, PolicySaved, VideoSaved)
MOST_COMPLAINTS = 20


@dataclass(eq=False)
class Following:
    """What the window wants of the log of a run, and how far it has its events."""

    run_id: str
    request: LogRequest | None = None
    """Not answered yet."""
    filter: LogFilter = field(default_factory=LogFilter)
    counted: tuple[LogFilter, int] | None = None
    """What was counted to the end, at which revision of the record."""
    seq: int = 0
    complaints: list[bytes] = field(default_factory=list[bytes])
    """Lines that are not events; the daemon sends those behind `seq` again after a loss."""
    heard: int = -1
    """Revision of the record when the events had been read to their end; until the next one there are no more."""
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

    def ask(self, request: LogRequest) -> None:
        """Instead of an earlier request that is not answered yet. In the GUI thread."""
        if self._following and self._following.run_id == request.run_id:
            self._following.request = request

    def count(self, run_id: str, wanted: LogFilter) -> None:
        """Count the lines that fit from now on. In the GUI thread."""
        if self._following and self._following.run_id == run_id:
            self._following.filter = wanted

    def hear_pages(self, listener: DaemonListener, client: Client) -> float:
        del listener
        following = self._following
        if following is None or (request := following.request) is None:
            return IDLE_S
        try:
            answer = (
                LogFound.of(request, client.find_in_log(request.to_find))
                if request.finds
                else LogPage.of(request, client.log_page(request.to_read))
            )
        except Refused as refused:
            if refused.status != "NOT_FOUND":  # deleted: the stream of changes will say so
                raise
            answer = None
        if following.request is request:
            following.request = None
        if answer is not None:
            self._post(Batch(log=(answer,)), following)
        return 0.0

    def hear_counts(self, listener: DaemonListener, client: Client) -> float:
        following = self._following
        record = self._records.get(following.run_id) if following else None
        if following is None or record is None or following.counted == (following.filter, record.revision):
            return IDLE_S
        wanted = following.filter
        stream = client.log_count(CountLogRequest(run_id=following.run_id, filter=wanted.message, follow=True))
        listener.reading(stream)
        whole = False
        try:
            for counts in Gathered(stream):
                if following.filter != wanted or following.is_closed:
                    return 0.0
                whole = counts[-1].whole
                self._post(Batch(log=(LogCounted.of(following.run_id, wanted, counts[-1]),)), following)
                listener.wait(BUSY_S)
        except Refused as refused:
            if refused.status != "NOT_FOUND":
                raise
        # A stream of a run that goes on ends because it was told to, or with the run: then the rest is counted.
        if whole and following.filter == wanted and record.state in TERMINAL:
            following.counted = (wanted, record.revision)
        return 0.0 if following.filter != wanted or following.is_closed else IDLE_S

    def hear_events(self, listener: DaemonListener, client: Client) -> float:
        following = self._following
        record = self._records.get(following.run_id) if following else None
        if following is None or record is None or following.heard == record.revision:
            return IDLE_S
        try:
            self._events(following, listener, client)
        except Refused as refused:
            if refused.status != "NOT_FOUND":
                raise
        if following.is_closed:
            return 0.0
        following.heard = record.revision
        return IDLE_S

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
        """Tell of lines that are not events; whether something was saved."""
        notices: list[Notice] = []
        saved = False
        for line in lines:
            try:
                event = decode(line.json)
                if not line.seq:
                    raise SpoolCorrupt(f"event {event.seq} is not in its place")
            except SpoolCorrupt as error:
                if (complaint := _complaint(following, line.json, error)) is not None:
                    notices.append(Notice(complaint, following.run_id))
                continue
            saved |= isinstance(event.body, SAVED)
        if notices:
            self._post(Batch(notices=tuple(notices)), following)
        following.seq = max((line.seq for line in lines), default=following.seq) or following.seq
        return saved


def _complaint(following: Following, line: bytes, error: SpoolCorrupt) -> str | None:
    known = following.complaints
    if line in known or len(known) > MOST_COMPLAINTS:
        return None
    known.append(line)
    if len(known) <= MOST_COMPLAINTS:
        return f"events.jsonl: {error}"
    return f"events.jsonl: more lines that are not events; the first {MOST_COMPLAINTS} are told"


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
