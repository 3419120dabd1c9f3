"""A run as an algorithm sees it: environments, scalars, checkpoints, stop. It knows nothing else of the studio."""

import math
import os
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import numpy as np
import torch

from cleanrl_worker.sdk import compiled, graph, policy, seeding
from cleanrl_worker.sdk.checkpoints import checkpoint
from cleanrl_worker.sdk.convolution import bfloat16_is_fast
from cleanrl_worker.sdk.live import open_live_view
from cleanrl_worker.sdk.live.video import Video, Videos
from cleanrl_worker.sdk.record.console import Console
from cleanrl_worker.sdk.record.event_recorder import EventRecorder, Pulse, Sink
from cleanrl_worker.sdk.record.histogram_writer import HistogramWriter, Networks
from cleanrl_worker.sdk.record.manifest_writer import ManifestWriter
from cleanrl_worker.sdk.record.run_versions import code_digest, package_versions
from cleanrl_worker.sdk.record.spool import Spool
from cleanrl_worker.sdk.record.tensorboard_writer import TensorBoard, board_folder, markdown_table
from cleanrl_worker.sdk.resident import ResidentEnvs
from cleanrl_worker.sdk.vector import Envs
from mosaic import envs as families
from mosaic.envs.observations.parted_rows import how_seen
from mosaic.envs.wrapping.chosen_wrappers import with_normalisers
from mosaic.errors import EnvironmentFailed, HomeUnusable, TrainingFailed
from mosaic.log import get_logger
from mosaic.spec import environment_settings, own_code
from mosaic.spec.events import (
    SHAPED_RETURN_TAG,
    CheckpointReason,
    CheckpointSaved,
    Episode,
    EventBody,
    Heartbeat,
    LiveViewOpened,
    Number,
    PolicySaved,
    RunCompleted,
    RunFailed,
    RunStarted,
    Scalars,
    Warned,
    number,
)
from mosaic.spec.files.source_copy import SourceCopy
from mosaic.spec.manifest import Artifact, Manifest, common_artifacts, tracking_artifacts
from mosaic.spec.processes.secret_keys import hidden
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.run_dir import RunDir, run_label

HOLD_POLL_S = 0.02
RETURNS_KEPT = 100
"""Episodes whose mean return tells how a run does; `stop_at_return` is about the same mean."""
MAY_BE_NAN = frozenset({"losses/explained_variance"})
"""Undefined while all returns are equal; every other loss that is not a number ends the run."""

log = get_logger()


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """What a run is made from."""

    run_dir: RunDir
    algo: str
    args: dict[str, Any]
    """JSON face of the algorithm's Args."""
    options: TrainOptions
    env_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings of the environment, as the run config has them."""
    tensorboard: bool = True
    quiet: bool = False
    cpus: int = 1
    resume_from: Path | None = None
    """A checkpoint folder of this run, compared with its digests already."""
    remarks: tuple[str, ...] = ()
    """What the user should know of the way in which this attempt begins."""
    source: SourceCopy | None = None
    """The user's code, or plans, which checkpoints and the policy carry a copy of."""
    env_sources: Mapping[str, SourceCopy] = field(default_factory=dict[str, SourceCopy])
    """The code of an environment and of wrappers of a user's, by reference; carried likewise."""
    gives_masks: bool = False
    """The environment was seen to tell which actions are allowed."""
    extra_sinks: tuple[Sink, ...] = ()

    @property
    def label(self) -> str:
        return run_label(self.args["env_id"], self.algo, self.args["seed"], int(time.time()))


class Run:
    """Opened by the command line, handed to `train(run, args)`."""

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec
        self.run_dir = spec.run_dir
        self.stopping = False
        """A stop was asked for (SIGTERM, cancel): save a checkpoint and return."""
        self._held = False
        self.generator = np.random.default_rng(spec.args["seed"])
        """The algorithm's own source of randomness; saved with each checkpoint."""
        self.envs: Envs | None = None
        self._resumed = _load(spec)
        self._first_step = 0 if self._resumed is None else self._resumed[0].global_step
        self._recent_returns: deque[float] = deque(maxlen=RETURNS_KEPT)
        self._goal = spec.options.stop_at_return
        """Mean return that ends the run; None once it is reached, so that a resumed run goes on."""
        self._end_reason = ""
        self._explain: Callable[[torch.Tensor], Mapping[str, Any]] | None = None
        self._exact = True
        self._begun = False
        self._started = self._last_save = time.monotonic()
        self._last_save_step = self._first_step
        self._pulse = Pulse(self._first_step)
        torch.set_num_threads(spec.cpus)
        seeding.seed_all(spec.args["seed"], torch_deterministic=spec.args.get("torch_deterministic", True))
        self.device = self._choose_device()
        graph.tell = self.warn
        spool = Spool(self.run_dir.events)
        self.attempt = spool.attempts + 1
        self._manifest_writer = ManifestWriter(self.run_dir, self._new_manifest())
        for source in (spec.source, *spec.env_sources.values()):
            if source is None:
                continue
            kept = self.run_dir.source / source.short / source.file
            kind = "script" if kept.suffix == ".py" else "plans"
            self._manifest_writer.add(Artifact(kind=kind, path=self.run_dir.relative(kept)))
        self._writer = checkpoint.BackgroundWriter(self.run_dir)
        with ExitStack() as undo:
            undo.callback(spool.close)
            self._recorder = EventRecorder(spool, self._mirrors(), beat=self._beat)
            undo.pop_all()

    # What an algorithm uses.

    @property
    def global_step(self) -> int:
        """Environment steps so far, over all environments."""
        return self.envs.global_step if self.envs is not None else self._first_step

    def make_envs(
        self, env_id: str, num_envs: int, *, observations: families.Observations = "vector", masks: bool = False
    ) -> Envs:
        """The environments of the run; `masks` adds to each observation what is allowed, where that is told."""
        options = self.spec.options
        self._warn_of_slow_arithmetic()
        self._warn_of_no_learning()
        backend = self._make_backend(env_id, num_envs, observations, "if given" if masks else "never")
        self._warn_of_unread_masks(backend)
        self.envs = Envs(backend, self._episode, report_shaped=self._shaped)
        if options.capture_video:
            self.envs.videos = Videos(backend, self.run_dir.videos, saved=self._video_saved, complain=self.warn)
        self.envs.live = open_live_view.open_view(
            backend, options, env_id=env_id, global_step=lambda: self.global_step, complain=self.warn
        )
        return self.envs

    def explain_with(self, explain: Callable[[torch.Tensor], Mapping[str, Any]]) -> None:
        """What viewers of the live view read beside a picture, while they ask for it: see `sdk/explained.py`.

        It is given one observation as a batch of one row, on the run's device, and must draw no random number.
        """
        self._explain = explain
        if self.envs is not None and self.envs.live is not None:
            self.envs.live.explained.explain = self.explained

    @torch.no_grad()
    def explained(self, row: np.ndarray[Any, Any]) -> Mapping[str, Any]:
        """What the agent makes of an observation, a batch of one row; empty where the algorithm does not tell."""
        if self._explain is None:
            return {}
        return self._explain(torch.as_tensor(row if row.dtype == np.uint8 else row.astype(np.float32)).to(self.device))

    def make_resident_envs(self, env_id: str, num_envs: int) -> ResidentEnvs:
        """The environments of the run as tensors on its device, for an algorithm that steps them itself."""
        from mosaic.envs.vector.tensor_vector import TensorVec

        options = self.spec.options
        if options.env_backend not in ("auto", "tensor"):
            self.warn(
                f"--env-backend {options.env_backend} steps aside: {self.spec.algo} has its environments as tensors"
            )
        if options.capture_video:
            self.warn(f"no video: {self.spec.algo} does not leave the device between two steps; evaluate its policy")
        self._warn_of_no_learning()
        render_mode = "rgb_array" if open_live_view.wanted(options) else None
        backend = families.make_vec(
            env_id,
            num_envs,
            backend="tensor",
            render_mode=render_mode,
            settings=self.spec.env_settings,
            device=str(self.device),
        )
        if not isinstance(backend, TensorVec):
            lacking = families.choose_backend(env_id, num_envs, backend="tensor", settings=self.spec.env_settings)
            raise EnvironmentFailed(f"{self.spec.algo} cannot train in '{env_id}' so: {lacking.reason}")
        self.envs = Envs(backend, self._episode)
        self.envs.live = open_live_view.open_view(
            backend, options, env_id=env_id, global_step=lambda: self.global_step, complain=self.warn
        )
        return ResidentEnvs(self.envs, backend)

    def resume(self) -> dict[str, Any] | None:
        """The algorithm's own part of the last checkpoint, or None at a fresh start.

        Call it once everything is built and before the first random number is drawn: it puts the generators and the
        environments back where they were.
        """
        assert self.envs is not None, "make_envs comes first"
        state = None
        if self._resumed is not None:
            state = self._resumed[1]
            self._resumed = None
            self._writer.go_on_from(state)
            self._exact = self.envs.restore(state["envs"])
            seeding.restore(state["rng"], self.generator)
            self._recent_returns.extend(state["recent_returns"])
            if self._goal_reached:
                self._goal = None
        if self._resumed_from_step is not None:
            # What lies beyond the checkpoint belongs to an attempt whose curve ends there.
            checkpoint.clear_leftovers(self.run_dir, after=self._first_step)
            self._histograms.go_on(0 if state is None else state.get("updates", 0), self._first_step)
            self._manifest_writer.list_checkpoints()
        self.emit(self._start_event())
        self._begun = True
        if self.envs.live is not None:
            self._manifest_writer.add(Artifact(kind="fastlane", path=self.envs.live.path))
            self.emit(LiveViewOpened(path=self.envs.live.path, environments=self.envs.num_envs))
        for remark in self.spec.remarks:
            self.warn(remark)
        if not self._exact:
            self.warn("the environments could not be restored exactly: the curve goes on, but not bit for bit")
        return None if state is None else checkpoint.Saved.of(state["algorithm"])

    @property
    def episodes_went_on(self) -> bool:
        """Whether `resume` took the environments back into their episodes; if not, memories of these are void."""
        return self._exact

    def steps_per_second(self) -> int:
        """CleanRL's SPS: steps of this attempt over its whole time."""
        return int((self.global_step - self._first_step) / max(time.monotonic() - self._started, 1e-9))

    def mean_return(self, episodes: int) -> float:
        """Of the last so many episodes (at most 100); not a number before the first has ended."""
        recent = list(self._recent_returns)[-episodes:]
        return float(np.mean(recent)) if recent else math.nan

    def scalars(self, values: Mapping[str, float]) -> None:
        """Log metrics at the current step; a loss that is not a number ends the run."""
        for tag, value in values.items():
            if not math.isfinite(value) and tag.startswith("losses/") and tag not in MAY_BE_NAN:
                raise TrainingFailed(
                    f"{tag} became {value} at step {self.global_step}; the last good checkpoint is kept:"
                    " resume it with a smaller learning rate"
                )
        numbers: dict[str, Number] = {tag: number(float(value)) for tag, value in values.items()}
        self.emit(Scalars(global_step=self.global_step, values=numbers))

    def histograms(self, networks: Networks) -> None:
        """Call it after each update, of networks that all got a gradient in it; --histograms-every says which count.

        Several networks are given by name. Of each parameter the values and the gradient of this moment are counted.
        """
        self._histograms.updated(networks, self.global_step)

    @property
    def checkpoint_due(self) -> bool:
        """Ask at a step boundary from which the algorithm can go on exactly; a held run waits here."""
        while self._held and not self.stopping:
            time.sleep(HOLD_POLL_S)
        self._raise_background_errors()
        options = self.spec.options
        if self._writer.busy:
            return False
        steps_due = 0 < options.checkpoint_interval_steps <= self.global_step - self._last_save_step
        elapsed_s = time.monotonic() - self._last_save
        return steps_due or 0 < options.checkpoint_interval_s <= elapsed_s

    def checkpoint_reason(self, *, ended: bool) -> CheckpointReason | None:
        """Why a checkpoint must be saved at this step boundary, if it must; after "stop" the algorithm returns."""
        # Read once: a signal between the two questions would end the run without its checkpoint.
        stopping, due = self.stopping, self.checkpoint_due
        return "stop" if stopping else "end" if ended else "interval" if due else None

    def checkpoint(self, algorithm: Mapping[str, Any], *, reason: CheckpointReason = "interval") -> None:
        """Save the train state; in the background, except for the last one."""
        assert self.envs is not None
        for name, value in algorithm.items():
            _refuse_nan(name, value, self.global_step)
        recent = list(self._recent_returns)
        header = checkpoint.Header(
            algo=self.spec.algo,
            args=self.spec.args,
            global_step=self.global_step,
            mean_return=float(np.mean(recent)) if recent else None,
            threads=self.spec.cpus,
            env_settings=dict(self.spec.env_settings),
            source=None if self.spec.source is None else self.spec.source.to_json(),
            env_sources=own_code.to_json(self.spec.env_sources),
        )
        state = {
            "algorithm": dict(algorithm),
            "envs": self.envs.state(),
            "rng": seeding.capture(self.generator),
            "recent_returns": recent,
            "updates": self._histograms.updates,
        }
        self._last_save, self._last_save_step = time.monotonic(), self.global_step
        compiled.compare_next_calls()
        graph.compare_next_replays()
        self._writer.wait()
        self._writer.start(
            header,
            state,
            # Events first: a run resumed from here must not lack any that led here.
            ready=self._flush,
            done=lambda folder: self._checkpoint_saved(folder, header.global_step, reason),
            waits=reason != "interval",
        )
        if reason != "interval":
            self._writer.wait()
            self._raise_background_errors()

    def save_policy(self, agent: torch.nn.Module, **normalisers: Mapping[str, Any]) -> None:
        """Write the policy file: weights, normalisers, spaces and settings, enough to act anywhere."""
        assert self.envs is not None
        if not self.spec.options.save_model:
            return
        self._writer.wait()
        arrays = {f"agent.{name}": tensor.detach().cpu().numpy() for name, tensor in agent.state_dict().items()}
        for name, values in normalisers.items():
            arrays |= {f"{name}.{key}": np.asarray(value) for key, value in values.items()}
        path = self.run_dir.policy(self._manifest_writer.content.label, self.spec.algo)
        content = policy.PolicyFile(
            algo=self.spec.algo,
            env_id=self.spec.args["env_id"],
            args=self.spec.args,
            env_settings=with_normalisers(self.spec.env_settings, self.envs.backend.normalisers()),
            observation_space=self.envs.single_observation_space,
            action_space=self.envs.single_action_space,
            global_step=self.global_step,
            arrays=arrays,
            source=self.spec.source,
            env_sources=self.spec.env_sources,
        )
        try:
            policy.write(path, content)
        except OSError as error:
            raise HomeUnusable(f"the policy {path} could not be written: {error}; free some disk and resume") from error
        relative = self.run_dir.relative(path)
        self._manifest_writer.add(Artifact(kind="policy", path=relative, global_step=self.global_step))
        self.emit(PolicySaved(global_step=self.global_step, path=relative))

    def warn(self, message: str) -> None:
        """Tell the user, in the terminal and in the window."""
        self.emit(Warned(message=message))

    def emit(self, body: EventBody) -> None:
        self._recorder.emit(body)

    # What the command line uses.

    def stop(self) -> None:
        """Ask for the end; safe in a signal handler."""
        self.stopping = True

    def hold(self) -> None:
        """Ask the run to wait at its next step boundary; safe in a signal handler."""
        self._held = True

    def let_go(self) -> None:
        """Let a held run go on; safe in a signal handler."""
        self._held = False

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if self.envs is not None and self.envs.videos is not None:
            self.envs.videos.close()
        self._writer.wait()
        self._histograms.end()
        failure = error or self._background_error
        if failure is None:
            ending = RunCompleted(global_step=self.global_step, stopped=self.stopping, reason=self._end_reason)
            self.emit(ending)
        else:
            self.emit(
                RunFailed(global_step=self.global_step, error=type(failure).__name__, message=hidden(str(failure)))
            )
        self._recorder.close()
        if self.envs is not None:
            if self.envs.live is not None:
                self._manifest_writer.remove(self.envs.live.path)
            self.envs.close()
        if error is None:
            self._raise_background_errors()

    # Inner workings.

    def _flush(self) -> None:
        self._histograms.flush()
        self._recorder.flush()

    def _make_backend(
        self, env_id: str, num_envs: int, observations: families.Observations, masks: families.Masks
    ) -> families.VecEnv:
        options, settings = self.spec.options, self.spec.env_settings
        how: dict[str, Any] = {"backend": options.env_backend, "observations": observations, "settings": settings}
        how["masks"] = masks
        chosen = families.choose_backend(env_id, num_envs, backend=options.env_backend, settings=settings)
        if options.env_backend not in ("auto", chosen.backend):
            self.warn(f"--env-backend {options.env_backend} steps aside for {chosen.backend}: {chosen.reason}")
        if open_live_view.wanted(options) or options.capture_video:
            try:
                return families.make_vec(env_id, num_envs, render_mode="rgb_array", **how)
            except EnvironmentFailed as error:
                self.warn(f"no live view and no video: {error}; the run goes on")
        return families.make_vec(env_id, num_envs, **how)

    def _mirrors(self) -> list[Sink]:
        mirrors: list[Sink] = [Console(quiet=self.spec.quiet)]
        board: TensorBoard | None = None
        if self.spec.tensorboard and not self.spec.options.fastlane_only:
            folder = board_folder(self.run_dir, self.spec.options.tensorboard_dir)
            settings = environment_settings.as_hyperparameters(self.spec.env_settings)
            table = markdown_table({**self.spec.args, **settings})
            board = TensorBoard(folder, hyperparameters=table, resumed_from_step=self._resumed_from_step)
            mirrors.append(board)
            self._manifest_writer.add_board(folder)
        every = self.spec.options.histograms_every
        self._histograms = HistogramWriter(self.run_dir.histograms, every, complain=self.warn, board=board)
        if every:
            mirrors.append(self._histograms)
        return [*mirrors, *self.spec.extra_sinks]

    def _new_manifest(self) -> Manifest:
        args = self.spec.args
        return Manifest(
            run_id=self.run_dir.run_id,
            algo=self.spec.algo,
            env_id=args["env_id"],
            env_settings=dict(self.spec.env_settings),
            seed=args["seed"],
            label=self.spec.label,
            artifacts=(
                *common_artifacts(self.run_dir),
                *tracking_artifacts(self.run_dir, wandb=self.spec.options.track_wandb),
            ),
        )

    def _choose_device(self) -> torch.device:
        wanted = bool(self.spec.args.get("cuda", False))
        if wanted and torch.cuda.is_available():
            return torch.device("cuda")
        if wanted:
            log.info("device.cpu", reason="no CUDA device found; training on the CPU")
        return torch.device("cpu")

    def _warn_of_slow_arithmetic(self) -> None:
        if self.spec.args.get("bfloat16", False) and not bfloat16_is_fast(self.device):
            where = "GPU" if self.device.type == "cuda" else "processor"
            self.warn(f"this {where} has no bfloat16 and imitates it, slowly; without --bfloat16 the run is faster")

    def _warn_of_unread_masks(self, backend: families.VecEnv) -> None:
        wanted = self.spec.args.get("action_masks", True)
        if self.spec.gives_masks and wanted and not how_seen(backend.single_observation_space)[1]:
            who = f"the {backend.backend} backend" if "action_masks" in self.spec.args else self.spec.algo
            self.warn(
                f"{self.spec.args['env_id']} tells which actions are allowed, and {who} does not read that:"
                " actions that are not allowed are taken too"
            )

    def _warn_of_no_learning(self) -> None:
        starts, steps = self.spec.args.get("learning_starts", 0), self.spec.args["total_timesteps"]
        if starts >= steps:
            self.warn(f"nothing will be learnt: learning starts after {starts} steps, and the run ends after {steps}")

    def _start_event(self) -> RunStarted:
        args = self.spec.args
        return RunStarted(
            algo=self.spec.algo,
            env_id=args["env_id"],
            seed=args["seed"],
            total_timesteps=args["total_timesteps"],
            attempt=self.attempt,
            resumed_from_step=self._resumed_from_step,
            exact=self._exact,
            pid=os.getpid(),
            host=socket.gethostname(),
            code=code_digest(self.spec.algo, self.spec.source),
            versions=package_versions(),
        )

    def _video_saved(self, video: Video) -> None:
        event = video.event(self.run_dir)
        self._manifest_writer.add(Artifact(kind="video", path=event.path, global_step=self.global_step))
        self.emit(event)

    def _episode(self, episode: Episode) -> None:
        self._recent_returns.append(float(episode.episodic_return))
        self.emit(episode)
        if self._goal is not None and not self.stopping and self._goal_reached:
            self._end_reason = f"reached a mean return of {self._goal:g} over {RETURNS_KEPT} episodes"
            self.stop()

    def _shaped(self, total: float) -> None:
        """What an episode brought the algorithm, beside the return of the environment itself."""
        self.emit(Scalars(global_step=self.global_step, values={SHAPED_RETURN_TAG: number(total)}))

    @property
    def _goal_reached(self) -> bool:
        if self._goal is None or len(self._recent_returns) < RETURNS_KEPT:
            return False
        return float(np.mean(self._recent_returns)) >= self._goal

    def _beat(self) -> Heartbeat | None:
        """Called by the recorder's thread: the learner does nothing for its own heartbeat."""
        step = self.global_step
        rate = self._pulse.steps_per_s(step) if self._begun else None
        return None if rate is None else Heartbeat(global_step=step, steps_per_s=rate)

    def _checkpoint_saved(self, folder: Path, global_step: int, reason: CheckpointReason) -> None:
        doomed = checkpoint.superseded(self.run_dir, keep=self.spec.options.checkpoints_kept)
        # The manifest first, so that it never lists what is gone.
        self._manifest_writer.list_checkpoints(without=doomed)
        checkpoint.remove(self.run_dir, doomed)
        self.emit(CheckpointSaved(global_step=global_step, path=self.run_dir.relative(folder), reason=reason))

    @property
    def _resumed_from_step(self) -> int | None:
        """0 for an attempt that starts over because the earlier ones left no checkpoint."""
        return self._first_step if self.attempt > 1 or self.spec.resume_from is not None else None

    @property
    def _background_error(self) -> Exception | None:
        return self._recorder.error or self._writer.error

    def _raise_background_errors(self) -> None:
        if self._background_error is not None:
            raise self._background_error


def _load(spec: RunSpec) -> tuple[checkpoint.Header, Any] | None:
    return None if spec.resume_from is None else checkpoint.load(spec.resume_from, algo=spec.algo, checked=True)


def _refuse_nan(name: str, value: Any, step: int) -> None:
    """A checkpoint with a NaN in it would replace the last good one."""
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[str, Any]", value).items():
            _refuse_nan(f"{name}.{key}", item, step)
        return
    array: Any = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value
    if isinstance(array, np.ndarray) and array.dtype.kind == "f" and not np.isfinite(cast(Any, array)).all():
        raise TrainingFailed(
            f"{name} is not finite at step {step}; the last good checkpoint is kept:"
            " resume it with a smaller learning rate"
        )
