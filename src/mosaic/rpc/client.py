"""The Python client: the daemon's interface with typed results (docs/python-api.md)."""

import json
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, cast

from mosaic import config
from mosaic.errors import ConfigError, Problem, RunNotFound, SpoolCorrupt
from mosaic.near_names import did_you_mean
from mosaic.rpc import policy_info
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.alert_news import AlertNews as AlertNews
from mosaic.rpc.alert_news import to_alert
from mosaic.rpc.call_errors import Refused as Refused
from mosaic.rpc.call_errors import translated
from mosaic.rpc.channel import open_channel
from mosaic.rpc.client_results import Algorithm as Algorithm
from mosaic.rpc.client_results import BrokenAlgorithm as BrokenAlgorithm
from mosaic.rpc.client_results import Engine as Engine
from mosaic.rpc.client_results import NewRows as NewRows
from mosaic.rpc.client_results import Series as Series
from mosaic.rpc.client_results import settings_by_environment as settings_by_environment
from mosaic.rpc.codec import LiveFrame, to_actor, to_live_frame, to_record
from mosaic.rpc.dry_run import Validation, dry_run, known_to_workers_only
from mosaic.rpc.find_run import ANY, LIVING, SESSION, TRAINING, Need, find_run
from mosaic.rpc.locate import DaemonUnavailable, ensure_daemon
from mosaic.rpc.newest import Newest
from mosaic.rpc.patient_submit import SUBMIT_PATIENCE_S, PatientSubmit
from mosaic.rpc.patient_submit import SubmitInterrupted as SubmitInterrupted
from mosaic.rpc.patient_submit import SubmitUnknown as SubmitUnknown
from mosaic.rpc.play_link import PlayLink as PlayLink
from mosaic.rpc.policy_info import PolicyInfo
from mosaic.rpc.reply_stream import Stream as Stream
from mosaic.rpc.trainer_methods import TrainerStub
from mosaic.rpc.training_document import nothing, training_document
from mosaic.spec import run_config
from mosaic.spec.actors import ActorDescriptor
from mosaic.spec.catalogue.known_environments import Found, Status
from mosaic.spec.environment_flags import EnvironmentFlags
from mosaic.spec.evaluation_config import Subject, document_of
from mosaic.spec.events import Event, decode
from mosaic.spec.own_code import is_reference
from mosaic.spec.presets.preset_files import Presets
from mosaic.spec.run_config import PolicyEvalExtras, TrainRunConfig
from mosaic.spec.run_dir import Home, is_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

if TYPE_CHECKING:
    from mosaic.fastlane.viewer_lease import Mode

CALL_TIMEOUT_S = 30.0
VALIDATE_TIMEOUT_S = 120.0
CLOSE_TIMEOUT_S = 0.5
_LISTED = "'mosaic algos {}' lists them"


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
        self.is_of_home = target is None
        """Whether its daemon is found by its home, rather than by an address."""
        self.target = target or ensure_daemon(self.home, start=start)
        self._channel = open_channel(self.target, home=self.home, certificate=certificate)
        self._stub: Any = TrainerStub(self._channel)
        self._submits = PatientSubmit(
            self._stub, target=self.target, home=self.home, may_start=start and self.is_of_home
        )

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        # gRPC waits for ever for a call that Ctrl-C cut short while it was being started: such a wait is left behind.
        closing = threading.Thread(target=self._channel.close, name="close", daemon=True)
        closing.start()
        closing.join(CLOSE_TIMEOUT_S)

    @translated
    def submit(
        self,
        document: TrainRunConfig | Mapping[str, Any],
        *,
        seeds: Sequence[int] = (),
        priority: int = 0,
        client_key: str | None = None,
        patience_s: float = SUBMIT_PATIENCE_S,
    ) -> list[RunRecord]:
        """Queue a run, or one for each seed. A retry with the same `client_key` never makes a second one.

        A daemon that is busy, hangs or is killed meanwhile is asked again with the same key until it is known whether
        the run was accepted, at most `patience_s`; then SubmitUnknown says so and tells the key.
        """
        data = config.to_json(document) if isinstance(document, TrainRunConfig) else document
        request = pb.SubmitRunRequest(
            config_json=json.dumps(data).encode(),
            client_key=client_key or uuid.uuid4().hex,
            seeds=seeds,
            priority=priority,
        )
        return [to_record(run) for run in self._submits.reply(request, patience_s=patience_s).runs]

    def train(
        self,
        algo: str,
        *,
        env_id: str,
        total_timesteps: int | None = None,
        seeds: Sequence[int] = (1,),
        label: str = "",
        tags: Sequence[str] = (),
        preset: str = "",
        settings: Mapping[str, config.JsonValue] | None = None,
        env_settings: Mapping[str, config.JsonValue] | None = None,
        wrappers: Sequence[str] | None = None,
    ) -> list[RunRecord]:
        """Queue a training run for each seed; `settings` are those of the algorithm that differ from its defaults.

        `preset` is the name of one (`mosaic presets`), which everything else that is given beats. `env_settings` are
        those of the environment, as `mosaic envs ENV` lists them. `wrappers` are put around it, the innermost first:
        `["TimeLimit:200", "shaping.py:Bonus:scale=0.5"]`, as `--wrap` takes them; a worker tries them before the runs
        are queued. Without `total_timesteps` the preset's are trained, or the algorithm's own.
        """
        self._refuse_misspelt(algo, settings or {})
        chosen = Presets(self.home).find(preset, algo, env_id) if preset else nothing(algo, env_id)
        of_preset = chosen.settings.get("total_timesteps")
        document = training_document(
            chosen,
            is_named=bool(preset),
            total_timesteps=total_timesteps or (of_preset if isinstance(of_preset, int) else self._default_steps(algo)),
            seed=seeds[0],
            label=label,
            tags=",".join(tags),
            settings=settings or {},
            env_settings=self._wrapped(env_id, env_settings, wrappers),
        )
        self._try_unknown(document)
        return self.submit(document, seeds=seeds)

    def _try_unknown(self, document: TrainRunConfig) -> None:
        """Refused in the words of a worker where it alone can tell that an environment or a wrapper does not fit."""
        if known_to_workers_only(document):
            self.validate(document).refuse()

    def _refuse_misspelt(self, algo: str, settings: Mapping[str, object]) -> None:
        """Before the daemon does, which knows flags alone: here they are keywords. An unknown algorithm is its word."""
        known = self.algorithms().get(algo) if settings else None
        if known is None:
            return
        names: Any = known.schema["properties"]
        problems = [
            Problem(name, f"is not one of them; {did_you_mean(name, names) or _LISTED.format(algo)}")
            for name in settings
            if name not in names
        ]
        if problems:
            raise ConfigError(problems, what=f"settings of {algo}")

    def _default_steps(self, algo: str) -> int:
        """As the algorithm has them; one that is not known is refused by the submit."""
        known = self.algorithms().get(algo)
        steps: Any = known.schema["properties"] if known else {}
        return int(steps.get("total_timesteps", {}).get("default", 1))

    def wait(self, *run_ids: str) -> list[RunRecord]:
        """Block until these runs have ended; they come back as they ended, in the order given."""
        runs = {run.run_id: run for run in map(self.get, run_ids)}
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

    @translated
    def validate(
        self,
        document: TrainRunConfig | Mapping[str, Any],
        *,
        tell: Callable[[str], object] = lambda _: None,
        begun: Callable[[Callable[[], object]], object] = lambda _: None,
    ) -> Validation:
        """A dry run through the real worker.

        `tell` gets each line that the worker prints, at once. `begun` is called with a function that cancels the dry
        run, from any thread; DryRunCancelled is raised then.
        """
        data = config.to_json(document) if isinstance(document, TrainRunConfig) else document
        request = pb.ValidateRunRequest(config_json=json.dumps(data).encode())
        return dry_run(self._stub, request, tell, begun)

    @translated
    def get(self, run_id: str) -> RunRecord:
        """By its id, the beginning or the end of it, its label, or @last."""
        if not is_run_id(run_id):
            return find_run(self, run_id)
        return to_record(self._stub.GetRun(pb.RunId(run_id=run_id), timeout=CALL_TIMEOUT_S))

    def _id(self, name: str, need: Need = ANY) -> str:
        """Of a run that is named in one of these ways."""
        return name if is_run_id(name) else find_run(self, name, need).run_id

    @translated
    def cancel(self, run_id: str) -> RunRecord:
        return to_record(self._stub.CancelRun(pb.RunId(run_id=self._id(run_id)), timeout=CALL_TIMEOUT_S))

    @translated
    def pause(self, run_id: str) -> RunRecord:
        return to_record(self._stub.PauseRun(pb.RunId(run_id=self._id(run_id)), timeout=CALL_TIMEOUT_S))

    @translated
    def go_on(self, run_id: str) -> RunRecord:
        return to_record(self._stub.ContinueRun(pb.RunId(run_id=self._id(run_id)), timeout=CALL_TIMEOUT_S))

    @translated
    def resume(
        self,
        run_id: str,
        *,
        from_step: int | None = None,
        discard_newer: bool = False,
        client_key: str | None = None,
    ) -> RunRecord:
        """Go on from the newest whole checkpoint, or from that of a step: in a new run, which names this one as its
        parent, if there are newer ones; with `discard_newer`, in the same run, which loses them.

        A retry with the same `client_key` never begins a second new run.
        """
        request = pb.ResumeRunRequest(
            run_id=self._id(run_id, TRAINING), discard_newer=discard_newer, client_key=client_key or uuid.uuid4().hex
        )
        if from_step is not None:
            request.from_step = from_step
        return to_record(self._stub.ResumeRun(request, timeout=CALL_TIMEOUT_S))

    @translated
    def delete(self, run_id: str) -> None:
        self._stub.DeleteRun(pb.RunId(run_id=self._id(run_id)), timeout=CALL_TIMEOUT_S)

    @translated
    def set_label(
        self,
        run_id: str,
        *,
        label: str | None = None,
        notes: str | None = None,
        priority: int | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
    ) -> RunRecord:
        request = pb.SetLabelRequest(
            run_id=self._id(run_id),
            label=label,
            notes=notes,
            priority=priority,
            add_tags=add_tags,
            remove_tags=remove_tags,
        )
        return to_record(self._stub.SetLabel(request, timeout=CALL_TIMEOUT_S))

    @translated
    def page(
        self,
        *,
        states: Sequence[str] = (),
        text: str = "",
        size: int = 0,
        token: str = "",
        kinds: Sequence[str] = (),
    ) -> tuple[list[RunRecord], str]:
        """A page of the list, and the token of the next one; empty at the end."""
        reply = self._page(states=states, kinds=kinds, text=text, size=size, token=token)
        return [to_record(run) for run in reply.runs], reply.next_page_token

    @translated
    def count(self, *, states: Sequence[str] = (), text: str = "", kinds: Sequence[str] = ()) -> int:
        """How many runs match."""
        return self._page(states=states, kinds=kinds, text=text, size=1, token="").total

    def _page(
        self, *, states: Sequence[str], kinds: Sequence[str], text: str, size: int, token: str
    ) -> pb.ListRunsReply:
        request = pb.ListRunsRequest(states=states, kinds=kinds, text=text, page_size=size, page_token=token)
        return self._stub.ListRuns(request, timeout=CALL_TIMEOUT_S)

    def list(
        self, *, states: Sequence[str] = (), text: str = "", limit: int = 0, kinds: Sequence[str] = ()
    ) -> list[RunRecord]:
        """Runs, newest first; all that match unless `limit` is given."""
        found: list[RunRecord] = []
        token = ""
        while True:
            size = min(limit - len(found), 1000) if limit else 1000
            runs, token = self.page(states=states, kinds=kinds, text=text, size=size, token=token)
            found += runs
            if not token or (limit and len(found) >= limit):
                return found

    @translated
    def watch_runs(self, *, after_revision: int = 0) -> Stream[RunRecord]:
        """Every change of every run, for ever."""
        return Stream(self._stub.WatchRuns(pb.WatchRunsRequest(after_revision=after_revision)), to_record)

    @translated
    def watch_alerts(self, *, after_revision: int = 0) -> Stream[AlertNews]:
        """Every change of every alert, for ever."""
        return Stream(self._stub.WatchAlerts(pb.WatchAlertsRequest(after_revision=after_revision)), to_alert)

    @translated
    def watch_events(
        self, run_id: str, *, after_seq: int = 0, kinds: Sequence[str] = (), without_kinds: Sequence[str] = ()
    ) -> Stream[Event]:
        """The events of a run until it has ended: all kinds, or some."""
        request = pb.WatchEventsRequest(
            run_id=self._id(run_id), after_seq=after_seq, kinds=kinds, without_kinds=without_kinds
        )
        return Stream(self._stub.WatchEvents(request), _event)

    @translated
    def watch_event_lines(
        self, run_id: str, *, after_seq: int = 0, kinds: Sequence[str] = (), without_kinds: Sequence[str] = ()
    ) -> Stream[pb.EventLine]:
        """The same as they are written, with the lines that are not events."""
        request = pb.WatchEventsRequest(
            run_id=self._id(run_id), after_seq=after_seq, kinds=kinds, without_kinds=without_kinds
        )
        return Stream(self._stub.WatchEvents(request), _as_it_is)

    @translated
    def metrics(
        self, run_id: str, *, tags: Sequence[str] = (), min_step: int = 0, max_step: int = 0, points: int = 0
    ) -> dict[str, Series]:
        request = pb.GetMetricsRequest(
            run_id=self._id(run_id, TRAINING), tags=tags, min_step=min_step, max_step=max_step, points=points
        )
        reply = self._stub.GetMetrics(request, timeout=CALL_TIMEOUT_S)
        return {
            one.tag: Series(one.tag, list(one.steps), list(one.values), list(one.times), one.total)
            for one in reply.series
        }

    @translated
    def new_metrics(
        self, run_id: str, *, after_rows: Mapping[str, int], generation: int, max_rows: int, tags: Sequence[str] = ()
    ) -> NewRows:
        """Rows behind the first `after_rows` of each tag, at most `max_rows` in all; none is left out or reduced."""
        request = pb.GetMetricsRequest(
            run_id=self._id(run_id), tags=tags, after_rows=after_rows, generation=generation, max_rows=max_rows
        )
        reply = self._stub.GetMetrics(request, timeout=CALL_TIMEOUT_S)
        rows = {one.tag: (one.first_row, one.rows) for one in reply.series}
        return NewRows(reply.generation, rows, reply.more)

    @translated
    def tags(self, run_id: str) -> Sequence[str]:
        return list(self._stub.ListTags(pb.RunId(run_id=self._id(run_id, TRAINING)), timeout=CALL_TIMEOUT_S).tags)

    @translated
    def run_values(
        self, run_ids: Sequence[str], *, settings: bool = False, metrics: Sequence[str] = (), metric_tags: bool = False
    ) -> pb.GetRunValuesReply:
        """What tables show beside the records, of at most 1000 runs; not all are looked at where reading takes long."""
        request = pb.GetRunValuesRequest(run_ids=run_ids, settings=settings, metrics=metrics, metric_tags=metric_tags)
        return self._stub.GetRunValues(request, timeout=CALL_TIMEOUT_S)

    @translated
    def logs(self, run_id: str, *, stream: str = "stdout", offset: int = 0, follow: bool = False) -> Stream[bytes]:
        request = pb.StreamLogsRequest(run_id=self._id(run_id), stream=stream, offset=offset, follow=follow)
        return Stream(self._stub.StreamLogs(request), _data)

    @translated
    def log_page(self, request: pb.ReadLogRequest) -> pb.LogPage:
        return self._stub.ReadLog(request, timeout=CALL_TIMEOUT_S)

    @translated
    def find_in_log(self, request: pb.FindInLogRequest) -> pb.FindInLogReply:
        return self._stub.FindInLog(request, timeout=CALL_TIMEOUT_S)

    @translated
    def log_count(self, request: pb.CountLogRequest) -> Stream[pb.LogCount]:
        return Stream(self._stub.CountLog(request), lambda count: count)

    @translated
    def artifacts(self, run_id: str) -> Sequence[pb.Artifact]:
        return self._stub.ListArtifacts(pb.RunId(run_id=self._id(run_id)), timeout=CALL_TIMEOUT_S).artifacts

    @translated
    def manifest_damage(self, run_id: str) -> str:
        """What is wrong with a run's manifest; `artifacts` is then what could be found without it."""
        return self._stub.ListArtifacts(pb.RunId(run_id=self._id(run_id)), timeout=CALL_TIMEOUT_S).damage

    @translated
    def frames(
        self,
        run_id: str,
        *,
        mode: "Mode | None" = None,
        slot: int | None = None,
        fps: float | None = None,
        quality: int = 80,
        tile_width: int = 320,
        image_format: Literal["jpeg", "webp"] = "jpeg",
        budget: float | None = None,
        explain: bool = False,
    ) -> Newest[LiveFrame]:
        """Live frames until the run ends; those that come too fast for this reader are left out. Close it."""
        request = pb.StreamFramesRequest(
            run_id=self._id(run_id, LIVING),
            mode=mode or "",
            slot=slot,
            fps=fps or 0,
            quality=quality,
            tile_width=tile_width,
            format=image_format,
            budget=budget or 0,
            explain=explain,
        )
        stream = self._stub.StreamFrames(request)
        return Newest(Stream(stream, to_live_frame), stream.cancel)

    @translated
    def files(self, run_id: str) -> dict[str, int]:
        """Every file of a run's directory, and its size in bytes."""
        reply = self._stub.ListFiles(pb.RunId(run_id=self._id(run_id)), timeout=CALL_TIMEOUT_S)
        return {file.path: file.bytes for file in reply.files}

    @translated
    def read_artifact(self, run_id: str, path: str, *, offset: int = 0) -> Stream[bytes]:
        request = pb.ReadArtifactRequest(run_id=self._id(run_id), path=path, offset=offset)
        return Stream(self._stub.ReadArtifact(request), _data)

    def read_json(self, run_id: str, path: str) -> Any:
        """A JSON file of a run; ConfigError that names it if it is damaged."""
        try:
            return config.any_json(b"".join(self.read_artifact(run_id, path)))
        except ValueError as error:
            problem = Problem("", f"is damaged, no JSON: {error}")
            raise ConfigError([problem], what=f"{path} of run {run_id}") from error

    @translated
    def algorithms(self) -> dict[str, Algorithm]:
        return self.listed_algorithms()[0]

    @translated
    def listed_algorithms(self) -> tuple[dict[str, Algorithm], Sequence[BrokenAlgorithm]]:
        """Those that can be trained with, and those of users that cannot, with the reason."""
        reply = self._stub.ListAlgorithms(pb.Empty(), timeout=VALIDATE_TIMEOUT_S)
        usable = {
            one.name: Algorithm(
                one.name, one.summary, one.actions, json.loads(one.schema_json), one.docs, one.observations, one.place
            )
            for one in reply.algorithms
        }
        return usable, [BrokenAlgorithm(one.name, one.place, one.problem) for one in reply.broken]

    def environments(self, *, with_settings: bool = False) -> Sequence[pb.EnvironmentFamily]:
        return self.environment_list(with_settings=with_settings).families

    @translated
    def environment_list(self, *, with_settings: bool = False) -> pb.ListEnvironmentsReply:
        """Environments by family, and those of users that cannot be made; with settings also Gymnasium's wrappers."""
        request = pb.ListEnvironmentsRequest(with_settings=with_settings)
        return self._stub.ListEnvironments(request, timeout=VALIDATE_TIMEOUT_S)

    @translated
    def environment(self, env_id: str, *, wrappers: Sequence[str] = ()) -> Found:
        """What is known of one environment, with the schema of its settings; of `wrappers` of users their arguments."""
        request = pb.DescribeEnvironmentRequest(env_id=env_id, wrappers=wrappers)
        about = self._stub.DescribeEnvironment(request, timeout=VALIDATE_TIMEOUT_S)
        facts = ("env_id", "family", "actions", "observations", "action_space", "observation_space")
        return Found(
            **{name: getattr(about, name) for name in facts},
            status=cast("Status", about.status),
            near=tuple(about.near),
            settings=json.loads(about.settings_schema_json) if about.settings_schema_json else None,
        )

    @translated
    def policies(self) -> Sequence[PolicyInfo]:
        """Every policy that a run of this home has saved, newest first."""
        reply = self._stub.ListPolicies(pb.Empty(), timeout=CALL_TIMEOUT_S)
        return [policy_info.from_message(one) for one in reply.policies]

    @translated
    def describe_policy(self, path: str) -> PolicyInfo:
        """What a policy file (or a folder with one) on the daemon's machine says of itself."""
        return policy_info.from_message(
            self._stub.DescribePolicy(pb.DescribePolicyRequest(path=path), timeout=CALL_TIMEOUT_S)
        )

    def evaluate(
        self,
        policy: PolicyInfo,
        *,
        episodes: int = 50,
        seed: int = 1,
        deterministic: bool = False,
        label: str = "",
        env_settings: Mapping[str, config.JsonValue] | None = None,
        wrappers: Sequence[str] | None = None,
    ) -> RunRecord:
        """Play a batch of episodes with a policy, as a run; the same seed gives every policy the same episodes.

        The environment has the settings and wrappers of the training; `env_settings` are given on top of them, and
        `wrappers` in the place of its own: an empty list is none.
        """
        algo = policy.algo if policy.kind == "mosaic" else ""
        settings = self._wrapped(policy.env_id, env_settings, wrappers)
        subject = Subject(policy=policy.path, env_id=policy.env_id, algo=algo, settings=settings)
        extras = PolicyEvalExtras(
            mode="policy_eval", policy_path=policy.path, eval_episodes=episodes, eval_deterministic=deterministic
        )
        [run] = self.submit(document_of(subject, extras, seed=seed, label=label))
        return run

    def _wrapped(
        self, env_id: str, settings: Mapping[str, config.JsonValue] | None, wraps: Sequence[str] | None
    ) -> dict[str, Any]:
        """The settings of an environment with the wrappers of these words."""
        if wraps is None:
            return dict(settings or {})
        given = EnvironmentFlags(kwargs=settings or {}, wraps=wraps)
        own = [name for name in given.names if is_reference(name)]
        schema = self.environment(env_id, wrappers=own).settings
        return given.settings(schema, env_id=env_id, what="wrappers")

    @translated
    def actors(self) -> Sequence[ActorDescriptor]:
        """Kinds of actor that can play."""
        reply = self._stub.ListActors(pb.Empty(), timeout=VALIDATE_TIMEOUT_S)
        return [to_actor(actor) for actor in reply.actors]

    @translated
    def engines(self, name: str = "") -> Sequence[Engine]:
        """What can start the workers of runs; each looks for what it needs, which may take seconds."""
        reply = self._stub.ListEngines(pb.ListEnginesRequest(name=name), timeout=VALIDATE_TIMEOUT_S)
        return [
            Engine(one.name, one.is_default, tuple(one.found), tuple(one.missing), one.start, not one.missing)
            for one in reply.engines
        ]

    @translated
    def episodes(self, run_id: str = "", *, env_id: str = "", limit: int = 0) -> Sequence[pb.RecordedEpisode]:
        """Recorded episodes, newest first."""
        request = pb.ListEpisodesRequest(run_id=run_id, env_id=env_id, limit=limit)
        return self._stub.ListEpisodes(request, timeout=CALL_TIMEOUT_S).episodes

    @translated
    def play(self, run_id: str) -> PlayLink:
        """The controls of a living play session."""
        return PlayLink(self._stub, self._id(run_id, SESSION))

    @translated
    def health(self, *, timeout_s: float = CALL_TIMEOUT_S) -> pb.Health:
        return self._stub.GetHealth(pb.Empty(), timeout=timeout_s)

    @translated
    def submit_sweep(self, plan: Mapping[str, Any], *, client_key: str | None = None) -> pb.Sweep:
        """Begin a sweep; a retry with the same `client_key` never begins a second one.

        What only a worker can tell of its trainings it tries first, once.
        """
        if "document" in plan:
            # The daemon says itself that a key cannot travel with a plan.
            trainings, _ = run_config.take_secrets(plan["document"])
            self._try_unknown(run_config.parse(trainings))
        request = pb.SubmitSweepRequest(plan_json=json.dumps(plan).encode(), client_key=client_key or uuid.uuid4().hex)
        return self._stub.SubmitSweep(request, timeout=VALIDATE_TIMEOUT_S)

    @translated
    def sweeps(self) -> Sequence[pb.Sweep]:
        """Newest first."""
        return list(self._stub.ListSweeps(pb.Empty(), timeout=CALL_TIMEOUT_S).sweeps)

    @translated
    def sweep(self, sweep_id: str, *, after_bytes: int = 0) -> pb.SweepTrials:
        """A sweep, and the lines of its trials behind those that the client has."""
        request = pb.GetSweepRequest(sweep_id=sweep_id, after_bytes=after_bytes)
        return self._stub.GetSweep(request, timeout=CALL_TIMEOUT_S)

    @translated
    def control_sweep(self, sweep_id: str, verb: str, *, trials: Sequence[int] = ()) -> pb.Sweep:
        """Ask for pause, continue, cancel or resume; the controller follows in a moment."""
        request = pb.ControlSweepRequest(sweep_id=sweep_id, verb=verb, trials=trials)
        return self._stub.ControlSweep(request, timeout=CALL_TIMEOUT_S)

    @translated
    def shutdown(self) -> None:
        self._stub.Shutdown(pb.Empty(), timeout=CALL_TIMEOUT_S)


def _event(line: pb.EventLine) -> Event | None:
    """None for a damaged line: the record of the run counts it."""
    try:
        return decode(line.json) if line.seq else None
    except SpoolCorrupt:
        return None


def _as_it_is(line: pb.EventLine) -> pb.EventLine:
    return line


def _data(chunk: "pb.LogChunk | pb.FileChunk") -> bytes:
    return chunk.data
