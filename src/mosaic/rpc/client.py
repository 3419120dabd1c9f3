"""The Python client: the daemon's interface with typed results (docs/python-api.md)."""

import json
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

import grpc

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import MosaicError, Problem, RunNotFound
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.channel import open_channel
from mosaic.rpc.codec import LiveFrame, to_live_frame, to_record
from mosaic.rpc.locate import DaemonUnavailable, ensure_daemon
from mosaic.rpc.newest import Newest
from mosaic.rpc.trainer_pb2_grpc import TrainerStub
from mosaic.spec.events import Event, decode
from mosaic.spec.run_config import (
    Artifacts,
    Environment,
    Metadata,
    TrainExtras,
    TrainRunConfig,
    Worker,
    WorkerConfig,
)
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

if TYPE_CHECKING:
    from mosaic.fastlane.lease import Mode

P = ParamSpec("P")
R = TypeVar("R")
CALL_TIMEOUT_S = 30.0
VALIDATE_TIMEOUT_S = 120.0
CLOSE_TIMEOUT_S = 0.5


class Refused(MosaicError):
    """The daemon answered with a reason."""

    def __init__(self, message: str, status: str) -> None:
        super().__init__(message)
        self.status = status
        # Bad input, unless the daemon's disk or the daemon itself is to blame.
        self.exit_code = {"RESOURCE_EXHAUSTED": 4, "INTERNAL": 1}.get(status, 2)


@dataclass(frozen=True)
class Validation:
    """What a dry run found."""

    ok: bool
    output: str
    summary: JsonObject
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Series:
    """Points of one metric."""

    tag: str
    steps: list[int]
    values: list[float]
    times: list[float]
    total: int
    """Points before the reduction."""


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of the catalogue."""

    name: str
    summary: str
    actions: str
    schema: JsonObject
    docs: str


def _translated(call: Callable[P, R]) -> Callable[P, R]:
    """gRPC's errors as ours."""

    @wraps(call)
    def translated(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except grpc.RpcError as error:
            raise _ours(error) from None

    return translated


def _ours(error: Any) -> MosaicError:
    status = error.code()
    if status in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
        return DaemonUnavailable(f"the daemon does not answer ({error.details()}); 'mosaic daemon status' looks")
    return Refused(error.details(), status.name)


class Client:
    """A connection to the daemon of a home, which is started if there is none, or to one at `target`."""

    def __init__(
        self,
        target: str | None = None,
        *,
        home: Home | None = None,
        start: bool = True,
        certificate: Path | None = None,
    ) -> None:
        self.home = home or Home.resolve()
        self.target = target or ensure_daemon(self.home, start=start)
        self._channel = open_channel(self.target, home=self.home, certificate=certificate)
        self._stub: Any = TrainerStub(self._channel)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        # gRPC waits for ever for a call that Ctrl-C cut short while it was being started: such a wait is left behind.
        closing = threading.Thread(target=self._channel.close, name="close", daemon=True)
        closing.start()
        closing.join(CLOSE_TIMEOUT_S)

    @_translated
    def submit(
        self,
        document: TrainRunConfig | Mapping[str, Any],
        *,
        seeds: Sequence[int] = (),
        priority: int = 0,
        client_key: str | None = None,
    ) -> list[RunRecord]:
        """Queue a run, or one for each seed. A retry with the same `client_key` never makes a second one."""
        data = config.to_json(document) if isinstance(document, TrainRunConfig) else document
        request = pb.SubmitRunRequest(
            config_json=json.dumps(data).encode(),
            client_key=client_key or uuid.uuid4().hex,
            seeds=seeds,
            priority=priority,
        )
        return [to_record(run) for run in self._stub.SubmitRun(request, timeout=CALL_TIMEOUT_S).runs]

    def train(
        self,
        algo: str,
        *,
        env_id: str,
        total_timesteps: int,
        seeds: Sequence[int] = (1,),
        label: str = "",
        settings: Mapping[str, config.JsonValue] | None = None,
    ) -> list[RunRecord]:
        """Queue a training run for each seed; `settings` are those of the algorithm that differ from its defaults."""
        worker = WorkerConfig(
            algo=algo,
            env_id=env_id,
            total_timesteps=total_timesteps,
            seed=seeds[0],
            extras=TrainExtras(algo_params=dict(settings or {})),
        )
        document = TrainRunConfig(
            run_name=label,
            environment=Environment(env_id=env_id),
            artifacts=Artifacts(),
            metadata=Metadata(worker=Worker(config=worker)),
        )
        return self.submit(document, seeds=seeds)

    def wait(self, *run_ids: str) -> list[RunRecord]:
        """Block until these runs have ended; they come back as they ended, in the order given."""
        runs = {run_id: self.get(run_id) for run_id in run_ids}
        since = min((run.revision for run in runs.values()), default=0)
        changes = self.watch_runs(after_revision=since)
        while not all(run.state in TERMINAL for run in runs.values()):
            run = next(changes, None)
            if run is None:
                raise DaemonUnavailable("the daemon has ended; the runs go on. Make a new Client and wait again")
            if run.run_id in runs:
                if run.deleted:
                    raise RunNotFound(run.run_id, hint="it was deleted")
                runs[run.run_id] = run
        return list(runs.values())

    @_translated
    def validate(self, document: TrainRunConfig | Mapping[str, Any]) -> Validation:
        """A dry run through the real worker."""
        data = config.to_json(document) if isinstance(document, TrainRunConfig) else document
        request = pb.ValidateRunRequest(config_json=json.dumps(data).encode())
        reply = self._stub.ValidateRun(request, timeout=VALIDATE_TIMEOUT_S)
        summary = config.loads(reply.summary_json) if reply.summary_json else {}
        problems = tuple(Problem(problem.path, problem.message) for problem in reply.problems)
        return Validation(reply.ok, reply.output, summary, problems)

    @_translated
    def get(self, run_id: str) -> RunRecord:
        return to_record(self._stub.GetRun(pb.RunId(run_id=run_id), timeout=CALL_TIMEOUT_S))

    @_translated
    def cancel(self, run_id: str) -> RunRecord:
        return to_record(self._stub.CancelRun(pb.RunId(run_id=run_id), timeout=CALL_TIMEOUT_S))

    @_translated
    def pause(self, run_id: str) -> RunRecord:
        return to_record(self._stub.PauseRun(pb.RunId(run_id=run_id), timeout=CALL_TIMEOUT_S))

    @_translated
    def go_on(self, run_id: str) -> RunRecord:
        return to_record(self._stub.ContinueRun(pb.RunId(run_id=run_id), timeout=CALL_TIMEOUT_S))

    @_translated
    def resume(self, run_id: str, *, from_step: int = 0) -> RunRecord:
        request = pb.ResumeRunRequest(run_id=run_id, from_step=from_step)
        return to_record(self._stub.ResumeRun(request, timeout=CALL_TIMEOUT_S))

    @_translated
    def delete(self, run_id: str) -> None:
        self._stub.DeleteRun(pb.RunId(run_id=run_id), timeout=CALL_TIMEOUT_S)

    @_translated
    def set_label(
        self, run_id: str, *, label: str | None = None, notes: str | None = None, priority: int | None = None
    ) -> RunRecord:
        request = pb.SetLabelRequest(run_id=run_id, label=label, notes=notes, priority=priority)
        return to_record(self._stub.SetLabel(request, timeout=CALL_TIMEOUT_S))

    @_translated
    def list(self, *, states: Sequence[str] = (), text: str = "", limit: int = 0) -> list[RunRecord]:
        """Runs, newest first; all that match unless `limit` is given."""
        found: list[RunRecord] = []
        token = ""
        while True:
            size = min(limit - len(found), 1000) if limit else 1000
            request = pb.ListRunsRequest(states=states, text=text, page_size=size, page_token=token)
            reply = self._stub.ListRuns(request, timeout=CALL_TIMEOUT_S)
            found += [to_record(run) for run in reply.runs]
            token = reply.next_page_token
            if not token or (limit and len(found) >= limit):
                return found

    def watch_runs(self, *, after_revision: int = 0) -> Iterator[RunRecord]:
        """Every change of every run, for ever."""
        stream = self._stub.WatchRuns(pb.WatchRunsRequest(after_revision=after_revision))
        return (to_record(run) for run in _stream(stream))

    def watch_events(self, run_id: str, *, after_seq: int = 0) -> Iterator[Event]:
        """The events of a run until it has ended."""
        stream = self._stub.WatchEvents(pb.WatchEventsRequest(run_id=run_id, after_seq=after_seq))
        return (decode(line.json) for line in _stream(stream))

    @_translated
    def metrics(
        self, run_id: str, *, tags: Sequence[str] = (), min_step: int = 0, max_step: int = 0, points: int = 0
    ) -> dict[str, Series]:
        request = pb.GetMetricsRequest(run_id=run_id, tags=tags, min_step=min_step, max_step=max_step, points=points)
        reply = self._stub.GetMetrics(request, timeout=CALL_TIMEOUT_S)
        return {
            one.tag: Series(one.tag, list(one.steps), list(one.values), list(one.times), one.total)
            for one in reply.series
        }

    @_translated
    def tags(self, run_id: str) -> Sequence[str]:
        return list(self._stub.ListTags(pb.RunId(run_id=run_id), timeout=CALL_TIMEOUT_S).tags)

    def logs(self, run_id: str, *, stream: str = "stdout", offset: int = 0, follow: bool = False) -> Iterator[bytes]:
        request = pb.StreamLogsRequest(run_id=run_id, stream=stream, offset=offset, follow=follow)
        return (chunk.data for chunk in _stream(self._stub.StreamLogs(request)))

    @_translated
    def artifacts(self, run_id: str) -> Sequence[pb.Artifact]:
        return self._stub.ListArtifacts(pb.RunId(run_id=run_id), timeout=CALL_TIMEOUT_S).artifacts

    def frames(
        self,
        run_id: str,
        *,
        mode: "Mode | None" = None,
        slot: int | None = None,
        fps: float = 15.0,
        quality: int = 80,
        tile_width: int = 320,
        image_format: Literal["jpeg", "webp"] = "jpeg",
    ) -> Iterator[LiveFrame]:
        """Live frames until the run ends; those that come too fast for this reader are left out."""
        request = pb.StreamFramesRequest(
            run_id=run_id,
            mode=mode or "",
            slot=slot,
            fps=fps,
            quality=quality,
            tile_width=tile_width,
            format=image_format,
        )
        stream = self._stub.StreamFrames(request)
        messages: Newest[pb.LiveFrame] = Newest(_stream(stream), stream.cancel)
        return (to_live_frame(message) for message in messages)

    def read_artifact(self, run_id: str, path: str) -> Iterator[bytes]:
        request = pb.ReadArtifactRequest(run_id=run_id, path=path)
        return (chunk.data for chunk in _stream(self._stub.ReadArtifact(request)))

    @_translated
    def algorithms(self) -> dict[str, Algorithm]:
        reply = self._stub.ListAlgorithms(pb.Empty(), timeout=VALIDATE_TIMEOUT_S)
        return {
            one.name: Algorithm(one.name, one.summary, one.actions, json.loads(one.schema_json), one.docs)
            for one in reply.algorithms
        }

    @_translated
    def environments(self) -> Sequence[pb.EnvironmentFamily]:
        return self._stub.ListEnvironments(pb.Empty(), timeout=VALIDATE_TIMEOUT_S).families

    @_translated
    def health(self) -> pb.Health:
        return self._stub.GetHealth(pb.Empty(), timeout=CALL_TIMEOUT_S)

    @_translated
    def shutdown(self) -> None:
        self._stub.Shutdown(pb.Empty(), timeout=CALL_TIMEOUT_S)


def _stream(messages: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from messages
    except grpc.RpcError as error:
        raise _ours(error) from None
