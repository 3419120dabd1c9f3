"""Everything around a session: its environment, players, recording, picture, controls and events, put together."""

import json
import os
import queue
import time
from contextlib import ExitStack
from typing import Any

from cleanrl_worker.sdk.record.event_recorder import EventRecorder
from cleanrl_worker.sdk.record.manifest_writer import ManifestWriter
from mosaic.envs.facts import mission
from mosaic.errors import EnvironmentFailed
from mosaic.fastlane.ring import RingWriter
from mosaic.fastlane.ring_layout import Tile
from mosaic.play.actor import Summarised
from mosaic.play.actor_thread import Answer
from mosaic.play.arenas.arena_choice import arena_of
from mosaic.play.arenas.lockstep_arena import LockstepArena
from mosaic.play.recording.episode_writer import EpisodeWriter
from mosaic.play.recording.replay_check import ReplayCheck
from mosaic.play.session.control_socket import Command, ControlSocket
from mosaic.play.session.play_plan import Plan
from mosaic.play.session.seated_players import SeatedPlayers, recording_of, settings_of, shown
from mosaic.play.session.session import Hooks, Session
from mosaic.play.session.session_picture import SessionPicture
from mosaic.play.session.session_state import state_of
from mosaic.play.session.watchdog import Watchdog
from mosaic.spec.events import Episode, Heartbeat, LiveViewOpened, RunFailed, Warned, number
from mosaic.spec.files.shared_files import write_atomically
from mosaic.spec.manifest import Artifact
from mosaic.spec.processes.secret_keys import hidden

STATE_S = 0.03
"""States that no client waits for are sent no more often than this."""
BEAT_S = 1.0
CLOSE_S = 1.0
ALONE_S, NEVER_SEEN_S = 5.0, 60.0
"""An interactive session ends when no client was connected for so long, or none came at all."""


class SessionSetup:
    """Made in the thread that will run the session; what it opens is closed with the stack."""

    def __init__(self, plan: Plan, recorder: EventRecorder, manifest_writer: ManifestWriter, stack: ExitStack) -> None:
        self._plan = plan
        self._recorder = recorder
        self._manifest_writer = manifest_writer
        self._told_at = 0.0
        self._told = True
        self._seen_at, self._patience_s = time.monotonic(), NEVER_SEEN_S
        self._beat = (time.monotonic(), 0)
        self._results: list[dict[str, Any]] = []
        inbox: queue.SimpleQueue[Answer | Command] = queue.SimpleQueue()
        self._arena = arena_of(
            plan.env_id,
            plan.options,
            pictures=_pictures(plan),
            observations=shown(plan),
            settings=settings_of(plan),
        )
        stack.callback(self._arena.close)
        lineup = SeatedPlayers(plan, self._arena, inbox.put)
        players = lineup.players()
        for player in players.values():
            stack.callback(player.close, CLOSE_S)
        recorded = recording_of(players)
        self.session = Session(
            self._arena,
            players,
            plan.options,
            seed=plan.seed if recorded is None else recorded.head.seed,
            recording=None if recorded else self._recording(),
            comparison=ReplayCheck(recorded, self._arena.versions) if recorded else None,
            watch=self._watch(stack),
            hooks=Hooks(
                shown=self._shown,
                idle=self._idle,
                ended=self._ended,
                complain=lambda message: recorder.emit(Warned(message=message)),
                make_hand=lineup.actor_thread,
            ),
            inbox=inbox,
        )
        self._view = self._open_view(stack)
        self._control = ControlSocket(plan.run_dir.play_socket, inbox.put)
        stack.callback(self._control.close)
        stack.callback(self._tell)

    def sum_up(self) -> None:
        """`play_summary.json`: every episode, and what came of a replay."""
        compared = self.session.played_episode.comparison
        summary: dict[str, Any] = {"episodes": self._results, "replay": compared.as_json() if compared else None}
        summary["env_settings"] = dict(self._arena.settings)
        summary["actors"] = {
            seat: player.agent.actor.summary()
            for seat, player in self.session.players.items()
            if player.agent is not None and isinstance(player.agent.actor, Summarised)
        }
        write_atomically(self._plan.run_dir.play_summary, json.dumps(summary, indent=1) + "\n")

    def _recording(self) -> EpisodeWriter:
        options, run_dir = self._plan.options, self._plan.run_dir
        self._manifest_writer.add(Artifact(kind="episodes", path=run_dir.episodes.name))
        return EpisodeWriter(run_dir, self._arena, observations=options.record_observations, film=options.record_frames)

    def _watch(self, stack: ExitStack) -> Watchdog:
        watch = Watchdog(self._plan.options.stall_s, stalled=self._stalled, give_up=self._give_up)
        stack.callback(watch.close)
        return watch

    def _open_view(self, stack: ExitStack) -> SessionPicture | None:
        if not _pictures(self._plan):
            return None
        try:
            ring = RingWriter.create()
        except OSError as error:
            self._recorder.emit(Warned(message=f"no pictures: no room for them ({error}); the session goes on"))
            return None
        view = SessionPicture(self._arena, ring, line=self._line)
        stack.callback(view.close)
        self._manifest_writer.add(Artifact(kind="fastlane", path=view.path))
        stack.callback(self._manifest_writer.remove, view.path)
        self._recorder.emit(LiveViewOpened(path=view.path, environments=len(self._arena.shown)))
        return view

    def _line(self) -> str:
        now, players = self.session.now, self.session.players
        if self._arena.order == "copies":
            actor = " | ".join(
                f"{seat} {_short(player.actor_thread(now.t + 1).word)}" for seat, player in players.items()
            )
        else:
            actor = now.last.actor or players[self._arena.turn].actor_thread(1).word
        said = self.session.pace.reason or mission(self._arena.unwrapped)
        return f"episode {now.episode}, {actor}" + (f": {said}" if said else "")

    def _tiles(self) -> list[Tile]:
        """Length and return of every environment that is shown."""
        now, arena = self.session.now, self._arena
        if isinstance(arena, LockstepArena):
            return [Tile(at, arena.lengths[seat], now.returns[seat]) for at, seat in enumerate(arena.seats)]
        return [Tile(0, now.t, now.returns[arena.seats[0]])]

    # What the session tells.

    def _shown(self, at_once: bool) -> None:
        now = self.session.now
        self._told = False
        if self._view is not None:
            self._view.show(now.global_step, self._tiles(), at_once=at_once)
        self._say(at_once)
        began, steps = self._beat
        moment = time.monotonic()
        if moment - began >= BEAT_S:
            rate = (now.global_step - steps) / (moment - began)
            self._beat = moment, now.global_step
            self._recorder.emit(Heartbeat(global_step=now.global_step, steps_per_s=round(rate, 1)))
            if self._recorder.error is not None:
                raise self._recorder.error

    def _idle(self) -> None:
        if self._plan.options.interactive and self._left_alone():
            self.session.orders.stop()
        if self._view is not None:
            self._view.refresh()
        self._say(False)

    def _left_alone(self) -> bool:
        now = time.monotonic()
        if self._control.heard:
            self._seen_at, self._patience_s = now, ALONE_S
        return now - self._seen_at > self._patience_s

    def _say(self, at_once: bool) -> None:
        if self._told or not self._control.heard:
            return
        if at_once or time.monotonic() - self._told_at >= STATE_S:
            self._tell()

    def _tell(self) -> None:
        self._told, self._told_at = True, time.monotonic()
        self._control.say(state_of(self.session))

    def _ended(self, outcome: str, length: int, total: float) -> None:
        now = self.session.now
        result = {"episode": now.episode, "seed": now.seed, "outcome": outcome, "length": length}
        returns = {seat: number(value) for seat, value in now.returns.items()}
        self._results.append(result | {"return": number(total), "returns": returns})
        if outcome == "stopped":
            return
        for tile in self._tiles():
            self._recorder.emit(
                Episode(
                    global_step=now.global_step,
                    slot=tile.env,
                    episodic_return=number(tile.episode_return),
                    episodic_length=tile.episode_length,
                )
            )

    # In the watch's thread.

    def _stalled(self, what: str) -> None:
        """The loop itself cannot say so: it is the one that hangs."""
        self.session.pace.reason = f"{self._plan.env_id}: {what}"
        self._recorder.emit(Warned(message=self.session.pace.reason))
        self._control.say({"status": "stalled", "reason": f"{self.session.pace.reason}; stop ends the session"})
        if not self._plan.options.interactive:
            self._give_up(what)

    def _give_up(self, what: str) -> None:
        """A call that never returns keeps its thread for ever: the process ends around it, with all it has recorded."""
        error = EnvironmentFailed(f"{self._plan.env_id}: {what}")
        steps = self.session.now.global_step
        self._recorder.emit(RunFailed(global_step=steps, error=type(error).__name__, message=hidden(str(error))))
        self._recorder.close()
        os.write(2, f"error: {error}\n".encode())
        os._exit(error.exit_code)


def _short(actor: str) -> str:
    """Without the folders of a file."""
    return actor.rpartition("/")[2]


def _pictures(plan: Plan) -> bool:
    options = plan.options
    if any(isinstance(params, dict) and params.get("image") for params in options.actor_params.values()):
        return True  # An actor looks, even if no person does.
    return (options.fastlane_enabled and options.video_mode != "off") or options.record_frames
