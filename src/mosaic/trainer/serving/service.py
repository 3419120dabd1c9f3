"""The gRPC service: requests in, records out. Every error a client sees has a status and a sentence."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, cast

import grpc

from mosaic import __version__, config
from mosaic.alerts.alert_settings import check_run as check_alerts_of_run
from mosaic.config import JsonObject
from mosaic.errors import (
    CheckpointError,
    ConfigError,
    HomeUnusable,
    InvalidTransition,
    MissingExtra,
    MissingPackage,
    MosaicError,
    PolicyError,
    Problem,
    RunNotFound,
    UnknownName,
    UnsafePath,
)
from mosaic.fastlane.ring_files import RingRefused
from mosaic.near_names import near_names
from mosaic.rpc import policy_info
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.codec import to_message
from mosaic.spec.files.files_of_run import NotAFile
from mosaic.spec.processes.process_identity import ProcessIdentity
from mosaic.spec.run_dir import RunDir
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE, RunState
from mosaic.sweep.sweep_dir import SweepNotFound
from mosaic.trainer.agents.agents import Agents
from mosaic.trainer.agents.watched_frames import WatchedFrames
from mosaic.trainer.catalogue.daemon_catalogue import Catalogue
from mosaic.trainer.engines import UnknownEngine
from mosaic.trainer.engines.all_engines import AllEngines
from mosaic.trainer.index import run_artifacts
from mosaic.trainer.index.episode_index import EpisodeIndex
from mosaic.trainer.index.index_store import CACHED, Page
from mosaic.trainer.index.policy_list import Policies
from mosaic.trainer.index.run_values import RunValues
from mosaic.trainer.logs.log_requests import LogRequests
from mosaic.trainer.machine.health import Health
from mosaic.trainer.runs import submit
from mosaic.trainer.runs.dry_runs import DryRuns
from mosaic.trainer.runs.supervisor import Supervisor
from mosaic.trainer.serving import live_frames, play_relay, streams
from mosaic.trainer.sweeps.sweep_requests import Sweeps

CHUNK_BYTES = 256 * 1024
MAX_PAGE = 1000
MAX_PAGE_BYTES = 16 * 2**20
"""Of the 32 MiB that a message may have."""
MAX_CONFIG_BYTES = 1024 * 1024
MAX_OFFSET = 2**62
"""Of a file; no file is that long, and a system call takes no more."""
MAX_TEXT = 1000
MAX_NOTES = 64 * 1024
MAX_POINTS = 1_000_000
"""In one reply: 24 MB of the 32 that a message may have."""

STATUS: dict[type[MosaicError], grpc.StatusCode] = {
    ConfigError: grpc.StatusCode.INVALID_ARGUMENT,
    UnsafePath: grpc.StatusCode.INVALID_ARGUMENT,
    RunNotFound: grpc.StatusCode.NOT_FOUND,
    SweepNotFound: grpc.StatusCode.NOT_FOUND,
    UnknownName: grpc.StatusCode.INVALID_ARGUMENT,
    MissingExtra: grpc.StatusCode.UNIMPLEMENTED,
    InvalidTransition: grpc.StatusCode.FAILED_PRECONDITION,
    CheckpointError: grpc.StatusCode.FAILED_PRECONDITION,
    PolicyError: grpc.StatusCode.FAILED_PRECONDITION,
    MissingPackage: grpc.StatusCode.UNIMPLEMENTED,
    live_frames.NoLiveView: grpc.StatusCode.FAILED_PRECONDITION,
    RingRefused: grpc.StatusCode.FAILED_PRECONDITION,
    HomeUnusable: grpc.StatusCode.RESOURCE_EXHAUSTED,
    streams.DaemonEnding: grpc.StatusCode.UNAVAILABLE,
    submit.CallerGone: grpc.StatusCode.CANCELLED,
}


class TrainerService:
    """One method per rpc; the work is the supervisor's."""

    def __init__(
        self,
        supervisor: Supervisor,
        engines: AllEngines,
        catalogue: Catalogue,
        health: Health,
        sweeps: Sweeps,
        agents: Agents,
        frames: WatchedFrames,
    ) -> None:
        self._supervisor = supervisor
        self._catalogue = catalogue
        self._health = health
        self._sweeps = sweeps
        self._store = supervisor.store
        self._home = supervisor.home
        self._engines = engines
        self._agents = agents
        self._frames = frames
        self._dry_runs = DryRuns(self._home, supervisor.slots, catalogue, engines.workshop, engines.of)
        self._policies = Policies(self._home, self._store)
        self._episodes = EpisodeIndex(supervisor.home)
        self._values = RunValues(self._home, supervisor.get, lambda record: supervisor.ingest_of(record).metrics)
        self._logs = LogRequests(supervisor, lambda run_id: self._dir(supervisor.get(run_id)))
        self._messages: dict[str, pb.Run] = {}

    def SubmitRun(self, request: pb.SubmitRunRequest, context: Any) -> pb.SubmitRunReply:
        supervisor, seeds = self._supervisor, list(request.seeds)
        # Outside the lock: the first submit may have to wait for the catalogue.
        accepted = self._check_run(
            _document(request.config_json), seeds=seeds, client_key=request.client_key, priority=request.priority
        )
        runs, known = supervisor.accept(accepted, client_key=request.client_key, is_wanted=context.is_active)
        return pb.SubmitRunReply(runs=map(to_message, runs), known=known)

    def _check_run(
        self, document: JsonObject, *, seeds: Sequence[int] = (), client_key: str = "", priority: int = 0
    ) -> list[submit.Accepted]:
        check_alerts_of_run(self._home, document)
        return submit.check(
            document,
            seeds=seeds,
            client_key=client_key,
            priority=priority,
            slots=self._supervisor.slots,
            settings_of=self._catalogue.settings_of,
            refuse_code=self._catalogue.refuse_code,
            sees_pixels=self._catalogue.sees_pixels,
            misfits_of=self._catalogue.misfits_of,
            engine_of=self._engines.of,
            default_engine=self._engines.default,
        )

    def ValidateRun(self, request: pb.ValidateRunRequest, context: Any) -> pb.ValidateRunReply:
        updates = self._dry_runs.run(_document(request.config_json), is_wanted=context.is_active)
        return [update.reply for update in updates][-1]

    def DryRun(self, request: pb.ValidateRunRequest, context: Any) -> Iterator[pb.DryRunUpdate]:
        return self._dry_runs.run(_document(request.config_json), is_wanted=context.is_active)

    def CancelRun(self, request: pb.RunId, context: Any) -> pb.Run:
        return to_message(self._supervisor.cancel(request.run_id))

    def PauseRun(self, request: pb.RunId, context: Any) -> pb.Run:
        return to_message(self._supervisor.pause(request.run_id))

    def ContinueRun(self, request: pb.RunId, context: Any) -> pb.Run:
        return to_message(self._supervisor.go_on(request.run_id))

    def ResumeRun(self, request: pb.ResumeRunRequest, context: Any) -> pb.Run:
        _check_length("client_key", request.client_key, submit.MAX_KEY)
        # The key of an earlier try may belong to a run that is not listed yet.
        self._supervisor.indexing.wait_until_listed(context.is_active)
        return to_message(
            self._supervisor.resume(
                request.run_id,
                request.from_step if request.HasField("from_step") else None,
                discard_newer=request.discard_newer,
                client_key=request.client_key,
            )
        )

    def GetRun(self, request: pb.RunId, context: Any) -> pb.Run:
        return to_message(self._supervisor.get(request.run_id))

    def ListRuns(self, request: pb.ListRunsRequest, context: Any) -> pb.ListRunsReply:
        unknown = [state for state in request.states if state not in set(RunState)]
        if unknown:
            raise ConfigError(
                [Problem("states", f"'{unknown[0]}' is not one of {', '.join(RunState)}")], what="ListRuns"
            )
        _check_length("text", request.text, MAX_TEXT)
        size = min(request.page_size or 100, MAX_PAGE)
        page = self._store.page(
            states=list(request.states),
            kinds=list(request.kinds),
            text=request.text,
            size=size,
            after=request.page_token,
        )
        runs, token = self._fitting(page)
        indexed, of = self._supervisor.indexed(self._store.counts())
        return pb.ListRunsReply(runs=runs, next_page_token=token, total=page.total, indexed=indexed, index_total=of)

    def DeleteRun(self, request: pb.RunId, context: Any) -> pb.Empty:
        self._supervisor.delete(request.run_id)
        return pb.Empty()

    def SetLabel(self, request: pb.SetLabelRequest, context: Any) -> pb.Run:
        changes = {name: getattr(request, name) for name in ("label", "notes", "priority") if request.HasField(name)}
        _check_length("label", request.label, MAX_TEXT)
        _check_length("notes", request.notes, MAX_NOTES)
        changed = self._supervisor.set_label(
            request.run_id, add_tags=request.add_tags, remove_tags=request.remove_tags, **changes
        )
        return to_message(changed)

    def WatchRuns(self, request: pb.WatchRunsRequest, context: Any) -> Iterator[pb.Run]:
        return streams.runs(self._store, self._supervisor.change_signal, request.after_revision, context)

    def WatchAlerts(self, request: pb.WatchAlertsRequest, context: Any) -> Iterator[pb.Alert]:
        return streams.alerts(self._supervisor.alerts, self._supervisor.change_signal, request.after_revision, context)

    def WatchEvents(self, request: pb.WatchEventsRequest, context: Any) -> Iterator[pb.EventLine]:
        record = self._supervisor.get(request.run_id)
        return streams.events(self._supervisor, self._dir(record), request, context)

    def GetMetrics(self, request: pb.GetMetricsRequest, context: Any) -> pb.GetMetricsReply:
        metrics = self._supervisor.ingest_of(self._supervisor.get(request.run_id)).metrics
        if request.max_rows:
            limit = min(request.max_rows, MAX_POINTS)
            new = metrics.read_new(request.after_rows, request.generation, limit, tags=request.tags)
            found = [pb.Series(tag=tag, first_row=first, rows=rows) for tag, (first, rows) in new.rows.items()]
            return pb.GetMetricsReply(series=found, generation=new.generation, more=new.more)
        series: list[pb.Series] = []
        sent = 0
        for tag in request.tags or metrics.tags:
            rows, total = metrics.read(tag, min_step=request.min_step, max_step=request.max_step, points=request.points)
            sent += len(rows)
            if sent > MAX_POINTS:
                problem = f"more than {MAX_POINTS:,} points in one reply; ask for fewer tags or steps, or set `points`"
                raise ConfigError([Problem("points", problem)], what="GetMetrics")
            if total:
                steps, values, times = rows.T
                steps = steps.astype("u8").tolist()
                series.append(
                    pb.Series(tag=tag, steps=steps, values=values.tolist(), times=times.tolist(), total=total)
                )
        return pb.GetMetricsReply(series=series)

    def ListTags(self, request: pb.RunId, context: Any) -> pb.ListTagsReply:
        return pb.ListTagsReply(tags=self._supervisor.ingest_of(self._supervisor.get(request.run_id)).metrics.tags)

    def GetRunValues(self, request: pb.GetRunValuesRequest, context: Any) -> pb.GetRunValuesReply:
        if len(request.run_ids) > MAX_PAGE:
            problem = Problem("run_ids", f"are {len(request.run_ids):,}; at most {MAX_PAGE:,} at once")
            raise ConfigError([problem], what="GetRunValues")
        return self._values.of(request)

    def StreamLogs(self, request: pb.StreamLogsRequest, context: Any) -> Iterator[pb.LogChunk]:
        run_dir = self._dir(self._supervisor.get(request.run_id))
        paths = {"stdout": run_dir.stdout, "stderr": run_dir.stderr, "": run_dir.stdout}
        if request.stream not in paths:
            raise ConfigError(
                [Problem("stream", f"'{request.stream}' is neither stdout nor stderr")], what="StreamLogs"
            )
        return streams.log(self._supervisor, run_dir, paths[request.stream], request.offset, request.follow, context)

    def ReadLog(self, request: pb.ReadLogRequest, context: Any) -> pb.LogPage:
        return self._logs.page(request)

    def FindInLog(self, request: pb.FindInLogRequest, context: Any) -> pb.FindInLogReply:
        return self._logs.find(request)

    def CountLog(self, request: pb.CountLogRequest, context: Any) -> Iterator[pb.LogCount]:
        return self._logs.count(request, context)

    def ListArtifacts(self, request: pb.RunId, context: Any) -> pb.ListArtifactsReply:
        found, damage = run_artifacts.listed(self._dir(self._supervisor.get(request.run_id)))
        return pb.ListArtifactsReply(artifacts=found, damage=damage)

    def StreamFrames(self, request: pb.StreamFramesRequest, context: Any) -> Iterator[pb.LiveFrame]:
        record = self._supervisor.get(request.run_id)
        checked, signal = live_frames.checked(request), self._supervisor.change_signal
        if self._engines.of(record.engine).runs_here:
            return live_frames.stream(self._dir(record), checked, signal, context)
        start = self._agents.linked(record.run_id)
        if start is None:
            where = f"it does not run, or its agent ({record.engine}) is not linked"
            raise live_frames.NoLiveView(f"run {record.run_id} has no live view now: {where}")
        wanted = lambda: context.is_active() and not signal.closed  # noqa: E731
        return self._frames.stream(start, checked, is_wanted=wanted)

    def ListFiles(self, request: pb.RunId, context: Any) -> pb.ListFilesReply:
        run_dir = self._dir(self._supervisor.get(request.run_id))
        return pb.ListFilesReply(files=[pb.RunFile(path=_sendable(path), bytes=size) for path, size in run_dir.files()])

    def ReadArtifact(self, request: pb.ReadArtifactRequest, context: Any) -> Iterator[pb.FileChunk]:
        try:
            file = self._dir(self._supervisor.get(request.run_id)).open(request.path)
        except NotAFile:
            reason = f"'{request.path}' is not a file of run {request.run_id}; ListFiles lists them"
            raise UnsafePath(reason) from None
        if request.offset:
            file.seek(min(request.offset, MAX_OFFSET))
        return _chunks(file)

    def ListAlgorithms(self, request: pb.Empty, context: Any) -> pb.ListAlgorithmsReply:
        described = self._catalogue.algorithms()
        algorithms = [
            pb.Algorithm(
                name=item["name"],
                summary=item["summary"],
                actions=item["actions"],
                schema_json=json.dumps(item["schema"]).encode(),
                docs=item["docs"],
                observations=item["observations"],
                place=item.get("place", ""),
            )
            for item in described
        ]
        broken = [
            pb.BrokenAlgorithm(name=one.name, place=one.place, problem=problem)
            for one, problem in self._catalogue.own.broken()
        ]
        return pb.ListAlgorithmsReply(algorithms=algorithms, broken=broken)

    def ListEnvironments(self, request: pb.ListEnvironmentsRequest, context: Any) -> pb.ListEnvironmentsReply:
        families = [
            pb.EnvironmentFamily(
                name=family["name"],
                extra=family["extra"],
                installed=family["installed"],
                advice=family["advice"],
                environments=[_environment(one) for one in family["environments"]],
                unlisted=[*family["unlisted"], *family.get("missing", ())],
                settings_json=_settings(family) if request.with_settings else b"",
            )
            for family in self._catalogue.environments()
        ]
        broken = [
            pb.BrokenEnvironment(name=one.name, place=one.place, problem=problem)
            for one, problem in self._catalogue.own_environments.broken()
        ]
        wrappers = json.dumps(self._catalogue.part("wrappers")).encode() if request.with_settings else b""
        return pb.ListEnvironmentsReply(families=families, broken=broken, wrappers_json=wrappers)

    def DescribeEnvironment(self, request: pb.DescribeEnvironmentRequest, context: Any) -> pb.EnvironmentDescription:
        _check_length("env_id", request.env_id, MAX_TEXT)
        found = self._catalogue.environment(request.env_id, wrappers=request.wrappers)
        facts = ("env_id", "status", "family", "actions", "observations", "action_space", "observation_space", "near")
        schema = b"" if found.settings is None else json.dumps(found.settings).encode()
        return pb.EnvironmentDescription(**{name: getattr(found, name) for name in facts}, settings_schema_json=schema)

    def ListPolicies(self, request: pb.Empty, context: Any) -> pb.ListPoliciesReply:
        return pb.ListPoliciesReply(policies=map(policy_info.to_message, self._policies.saved()))

    def DescribePolicy(self, request: pb.DescribePolicyRequest, context: Any) -> pb.PolicyInfo:
        _check_length("path", request.path, MAX_TEXT)
        return policy_info.to_message(self._policies.describe(request.path))

    def ListActors(self, request: pb.Empty, context: Any) -> pb.ListActorsReply:
        actors = [{key: one[key] for key in one if key != "modules"} for one in self._catalogue.part("actors")]
        return pb.ListActorsReply(actors=[pb.Actor(**actor) for actor in actors])

    def ListEpisodes(self, request: pb.ListEpisodesRequest, context: Any) -> pb.ListEpisodesReply:
        run_id = self._supervisor.get(request.run_id).run_id if request.run_id else ""
        found = self._episodes.find(run_id=run_id, env_id=request.env_id, limit=request.limit)
        return pb.ListEpisodesReply(episodes=found)

    def Play(self, request_iterator: Iterator[pb.PlayCommand], context: Any) -> Iterator[pb.PlayState]:
        first = next(request_iterator, None)
        if first is None:
            return iter(())
        record = self._supervisor.get(first.run_id)

        def lives() -> bool:
            now = self._supervisor.get(record.run_id)
            return now.kind == "play" and now.state in LIVE

        return play_relay.relay(
            self._dir(record), first, request_iterator, self._supervisor.change_signal, context, lives=lives
        )

    def SubmitSweep(self, request: pb.SubmitSweepRequest, context: Any) -> pb.Sweep:
        _check_length("client_key", request.client_key, submit.MAX_KEY)
        return self._sweeps.submit(_document(request.plan_json), request.client_key, self._check_run)

    def ListSweeps(self, request: pb.Empty, context: Any) -> pb.ListSweepsReply:
        return pb.ListSweepsReply(sweeps=self._sweeps.listed())

    def GetSweep(self, request: pb.GetSweepRequest, context: Any) -> pb.SweepTrials:
        return self._sweeps.get(request.sweep_id, request.after_bytes)

    def ControlSweep(self, request: pb.ControlSweepRequest, context: Any) -> pb.Sweep:
        return self._sweeps.control(request.sweep_id, request.verb, list(request.trials))

    def RegisterWorker(self, request: pb.RegisterWorkerRequest, context: Any) -> pb.RegisterWorkerReply:
        who = config.from_json_text(ProcessIdentity, request.identity_json, what="identity_json")
        accepted = self._supervisor.register(request.run_id, who)
        known = self._supervisor.ingest_of(self._supervisor.get(request.run_id)).last_seq
        return pb.RegisterWorkerReply(last_seq=known, accepted=accepted)

    def PublishEvents(
        self, request_iterator: Iterator[pb.PublishEventsRequest], context: Any
    ) -> Iterator[pb.PublishEventsReply]:
        """The worker's spool lies in our own home: a request says that there is something to read in it.

        Workers of earlier versions name events, and wait until they are taken in.
        """
        for request in request_iterator:
            run_id = self._supervisor.get(request.run_id).run_id
            self._supervisor.wake()
            if request.events:
                wanted = request.events[-1].seq
                yield pb.PublishEventsReply(acknowledged_seq=self._supervisor.wait_for_event(run_id, wanted))

    def ListEngines(self, request: pb.ListEnginesRequest, context: Any) -> pb.ListEnginesReply:
        names = [name for name in self._engines.names if request.name in ("", name)]
        if not names:
            raise UnknownEngine(request.name, near_names(request.name, self._engines.names))
        engines = [pb.EngineInfo(name=name, is_default=name == self._engines.default) for name in names]
        for info in engines:
            probe = self._engines.of(info.name).probe()
            info.found.extend(probe.found)
            info.missing.extend(probe.missing)
            info.start = probe.start
        return pb.ListEnginesReply(engines=engines)

    def GetHealth(self, request: pb.Empty, context: Any) -> pb.Health:
        health = self._health.look()
        health.version = __version__
        return health

    def Shutdown(self, request: pb.Empty, context: Any) -> pb.Empty:
        self._health.ask_to_end()
        return pb.Empty()

    def _message(self, record: RunRecord) -> pb.Run:
        """Encoded once for each change: lists show mostly runs that ended long ago."""
        known = self._messages.get(record.run_id)
        if known is None or known.revision != record.revision:
            if len(self._messages) >= CACHED:
                self._messages.clear()
            known = self._messages[record.run_id] = to_message(record)
        return known

    def _fitting(self, page: Page) -> tuple[list[pb.Run], str]:
        """As many runs of a page as one message carries, and the token of what comes behind them."""
        runs: list[pb.Run] = []
        size = 0
        for record in page.runs:
            message = self._message(record)
            size += message.ByteSize()
            if size > MAX_PAGE_BYTES and runs:
                return runs, runs[-1].run_id
            runs.append(message)
        return runs, page.next_token

    def _dir(self, record: RunRecord) -> RunDir:
        return self._home.run(record.run_id)


def _document(data: bytes) -> config.JsonObject:
    if len(data) > MAX_CONFIG_BYTES:
        problem = Problem("config_json", f"{len(data):,} bytes; at most {MAX_CONFIG_BYTES:,} are taken")
        raise ConfigError([problem], what="run config")
    document = config.loads(data, what="run config")
    problems = [
        Problem(path, "has a NUL character, which no name and no path can have") for path in _with_nul(document)
    ]
    if problems:
        raise ConfigError(problems, what="run config")
    return document


def _with_nul(value: Any, path: str = "") -> Iterator[str]:
    """Where a NUL stands, which no file name and no environment variable can hold."""
    if isinstance(value, str) and "\0" in value:
        yield path
    elif isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            at = f"{path}.{key}" if path else key
            if "\0" in key:
                yield repr(at)
            yield from _with_nul(item, at)
    elif isinstance(value, list):
        for number, item in enumerate(cast("list[Any]", value)):
            yield from _with_nul(item, f"{path}.{number}")


def _settings(family: Mapping[str, Any]) -> bytes:
    """As `known_environments.settings_of` takes them."""
    environments = {one["env_id"]: one["settings"] for one in family["environments"] if "settings" in one}
    return json.dumps({"schemas": family.get("settings", {}), "environments": environments}).encode()


def _environment(entry: Mapping[str, Any]) -> pb.EnvironmentInfo:
    """Without its settings, which only some ask for."""
    return pb.EnvironmentInfo(**{key: value for key, value in entry.items() if key != "settings"})


def _check_length(name: str, text: str, limit: int) -> None:
    if len(text) > limit:
        raise ConfigError([Problem(name, f"{len(text):,} characters; at most {limit:,} are taken")], what="request")


def _sendable(name: str) -> str:
    """A file's name as a message can carry it: one that is not UTF-8 with question marks."""
    return name if name.isprintable() else name.encode(errors="replace").decode()


def _chunks(file: BinaryIO) -> Iterator[pb.FileChunk]:
    with file:
        while data := file.read(CHUNK_BYTES):
            yield pb.FileChunk(data=data)
