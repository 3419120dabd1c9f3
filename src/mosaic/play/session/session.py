"""A play session: one loop that asks, steps and shows, and listens to its controls between any two of these.

It waits in one place only (`_take`), for a message: an answer of an actor, a command of a person, or the time. So an
actor may take as long as it likes, and a command is obeyed while it does. Only a call into the environment can hold the
loop up; the watch reports that.
"""

import queue
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mosaic.errors import ActorFailed, EnvironmentFailed, MosaicError
from mosaic.play.actor import Choice, View
from mosaic.play.actor_thread import ActorThread, Answer
from mosaic.play.arenas.arena import Arena
from mosaic.play.json_values import fits
from mosaic.play.recording.episode_writer import EpisodeWriter
from mosaic.play.recording.replay_check import ReplayCheck
from mosaic.play.session.commands import MakeHand, SessionCommands
from mosaic.play.session.control_socket import Command
from mosaic.play.session.episode import PlayedEpisode
from mosaic.play.session.pace import Pace
from mosaic.play.session.player import Player
from mosaic.play.session.watchdog import Watchdog
from mosaic.spec.episode_file import Outcome as Ended
from mosaic.spec.run_config import PlayExtras

POLL_S = 0.05
LINGER_S = 1.0
"""How long the last picture of an episode stays before the next one begins, at a speed that a viewer can follow."""


@dataclass(kw_only=True)
class Hooks:
    """What the session tells others."""

    shown: Callable[[bool], None]
    """Something changed; True where a viewer waits for it."""
    idle: Callable[[], None]
    """Nothing happens just now."""
    ended: Callable[[str, int, float], None]
    """An episode is over: outcome, length, return of the first seat."""
    complain: Callable[[str], None]
    make_hand: MakeHand
    """A new agent for a seat, from its word."""


class Session:
    """Runs in the thread that owns the environment; what others want of it they put into its inbox."""

    def __init__(
        self,
        arena: Arena,
        players: Mapping[str, Player],
        options: PlayExtras,
        *,
        seed: int,
        recording: EpisodeWriter | None,
        comparison: ReplayCheck | None = None,
        watch: Watchdog,
        hooks: Hooks,
        inbox: "queue.SimpleQueue[Answer | Command]",
    ) -> None:
        self.played_episode = PlayedEpisode(
            arena, players, seed=seed, recording=recording, comparison=comparison, watch=watch
        )
        self.arena = arena
        self.players = players
        self.now = self.played_episode.now
        self.pace = Pace(options.speed, paused=options.paused)
        self.orders = SessionCommands(
            self.played_episode, self.pace, next_seed=self._next_seed, make_hand=hooks.make_hand
        )
        self._options = options
        self._first_seed = seed
        self._hooks = hooks
        self._inbox = inbox
        self._questions = _Questions()

    def run(self) -> None:
        """Play until the last episode is over or a client stops it."""
        while not self.orders.ending and (not self._options.episodes or self.now.episode < self._options.episodes):
            try:
                self._episode()
            except EnvironmentFailed as error:
                self._trouble(error)
                self._wait_for_clients()
        self.pace.reason = "the session is over"

    def _episode(self) -> None:
        now, orders = self.now, self.orders
        seed = self._next_seed() if orders.again is None else orders.again
        orders.again = None
        self.played_episode.begin(seed)
        outcome: Ended = "stopped"
        try:
            self._show(at_once=True)
            while not orders.interrupt and not self._is_over():
                self._turn()
            outcome = now.over or "stopped"
        finally:
            self._questions.drop_all()
            self.played_episode.end(outcome)
        self._hooks.ended(outcome, now.t, now.returns[self.arena.seats[0]])
        self._show(at_once=True)
        if now.over:
            self._linger()

    def _next_seed(self) -> int:
        """That of the next episode: of the list where there is one, and one more each time after it."""
        listed, played = self._options.seeds, self.now.episode
        return listed[played] if played < len(listed) else self._first_seed + played

    def _is_over(self) -> bool:
        """Whether the episode is; at the end of a recording a person may still go back in it."""
        replayed = self.played_episode.comparison
        if replayed is None:
            return bool(self.now.over)
        while self.now.t >= replayed.length or self.now.over:
            if not self._options.interactive:
                self.orders.ending = True
            elif not self.pace.paused:
                self._pause("the recording ends here")
            while self.pace.paused and not self.orders.interrupt and self.now.t >= replayed.length:
                self._take(POLL_S)
            if self.orders.interrupt:
                return True
            if not self.pace.paused:
                self.orders.again = replayed.recording.head.seed
                return True
        return False

    def _linger(self) -> None:
        until = time.monotonic() + (LINGER_S if self._options.interactive and self.pace.speed else 0.0)
        # A person who goes step by step looks at the last one as long as they like.
        while not self.orders.interrupt and (time.monotonic() < until or self.pace.stands):
            self._take(POLL_S)

    # One action.

    def _turn(self) -> None:
        """Wait until it is due, ask for it, make the step."""
        t = self.now.t + 1
        player, questions = self.played_episode.player, self._questions
        try:
            while not self.orders.interrupt and self.now.t == t - 1:
                actor_thread, question = player.actor_thread(t), questions.at(player.seat)
                if self.pace.stands:
                    self._take(POLL_S)
                elif (wait_s := self.pace.wait_s(actor_thread)) > 0:
                    self._take(wait_s)
                elif (choice := player.overridden()) is not None:
                    self._apply(player, player.person or actor_thread, choice)
                elif question is None or question.actor_thread is not actor_thread:
                    self._ask(player, actor_thread)
                elif (answer := question.answer) is not None:
                    questions.drop(player.seat)
                    self._use(player, actor_thread, answer)
                else:
                    self._take(POLL_S)
                    self._check_time(question)
        finally:
            questions.drop(player.seat)

    def _ask(self, player: Player, actor_thread: ActorThread) -> None:
        """And, in the same round, those after it that wait for a service elsewhere: so they wait at the same time.

        Nothing that they see depends on what is chosen before them. Others are asked when it is their turn: a person
        would choose too early, and actors that compute would disturb each other.
        """
        self._questions.ask(player.seat, actor_thread, self.played_episode.view(player))
        for ahead, seat in enumerate(self.arena.to_act[1:], start=1):
            other = self.players[seat]
            waits = other.control == "agent" and getattr(other.agent and other.agent.actor, "waits_elsewhere", False)
            if waits and self._questions.at(seat) is None:
                self._questions.ask(
                    seat, other.actor_thread(self.now.t + 1 + ahead), self.played_episode.view(other, ahead=ahead)
                )

    def _check_time(self, question: "_Question") -> None:
        late = time.monotonic() - question.asked_at > self._options.actor_timeout_s
        if late and not question.actor_thread.is_person and not self.pace.paused:
            question.asked_at = time.monotonic()
            self._trouble(
                ActorFailed(f"'{question.actor_thread.word}' has not answered for {self._options.actor_timeout_s:g} s")
            )

    def _use(self, player: Player, actor_thread: ActorThread, answer: Answer) -> None:
        choice, space = answer.choice, self.arena.at(player.seat).action_space
        if choice is None:
            # A person who was told too late that another actor acts is simply asked again.
            if answer.problem:
                self._trouble(ActorFailed(answer.problem))
        elif not fits(choice.action, space):
            self._trouble(
                ActorFailed(f"'{actor_thread.word}' chose {choice.action!r:.200}, which is not an action of {space}")
            )
        elif reason := self.arena.refusal(player.seat, choice.action):
            if actor_thread.is_person:
                # A person is simply asked again.
                self.pace.reason = f"the rules do not allow '{self._named(player, choice.action)}' now"
                self._show(at_once=True)
                return
            self._trouble(ActorFailed(f"'{actor_thread.word}' ({player.seat}) chose {choice.action!r:.200}, {reason}"))
        else:
            self._apply(player, actor_thread, choice)

    def _named(self, player: Player, action: Any) -> str:
        arena = self.arena.at(player.seat)
        at = int(action) - int(getattr(arena.action_space, "start", 0))
        return arena.action_names[at] if 0 <= at < len(arena.action_names) else str(action)

    def _apply(self, player: Player, actor_thread: ActorThread, choice: Choice) -> None:
        began = time.monotonic()
        if not self.pace.paused:
            self.pace.reason = ""
        self.played_episode.step(player, actor_thread, choice)
        self.pace.made(began, self.arena.steps_per_s, round_ends=self.arena.round_ends(player.seat))
        self._show(at_once=actor_thread.is_person or self.pace.paused)

    # Standing still, and listening.

    def _trouble(self, error: MosaicError) -> None:
        """Pause and say why, where the user can fix it; else this is the end."""
        if not self._options.interactive:
            raise error
        self._hooks.complain(str(error))
        self._pause(str(error), troubled=isinstance(error, ActorFailed))

    def _pause(self, reason: str, *, troubled: bool = False) -> None:
        self.pace.pause(reason, troubled=troubled)
        self._show(at_once=True)

    def _wait_for_clients(self) -> None:
        """The environment is broken: go on with a new one when a client says so."""
        while self.pace.paused and not self.orders.interrupt:
            self._take(POLL_S)
        if not self.orders.ending:
            self.played_episode.remake()

    def _show(self, *, at_once: bool) -> None:
        self._hooks.shown(at_once)

    def _take(self, timeout_s: float) -> None:
        """Wait for one message, at most so long, and act on it."""
        try:
            message = self._inbox.get(timeout=min(timeout_s, POLL_S))
        except queue.Empty:
            self._hooks.idle()
            return
        if isinstance(message, Command):
            self.orders.obey(message)
            self._show(at_once=True)
        elif message.token:
            self._questions.take(message)
        elif message.problem:
            self._trouble(ActorFailed(message.problem))


@dataclass
class _Question:
    """To an actor, still open."""

    actor_thread: ActorThread
    token: int
    asked_at: float
    answer: Answer | None = None


class _Questions:
    """One a seat, and the answers that came to them."""

    def __init__(self) -> None:
        self._open: dict[str, _Question] = {}

    def at(self, seat: str) -> _Question | None:
        return self._open.get(seat)

    def ask(self, seat: str, actor_thread: ActorThread, view: View) -> None:
        """The actor that was asked for this seat before need not answer any more."""
        self.drop(seat)
        self._open[seat] = _Question(actor_thread, actor_thread.ask(view), time.monotonic())

    def take(self, answer: Answer) -> None:
        """An answer that the session waits for no more is dropped."""
        for question in self._open.values():
            if question.token == answer.token:
                question.answer = answer

    def drop(self, seat: str) -> None:
        question = self._open.pop(seat, None)
        # One who has answered already does not wait, and would be told to stop waiting the next time.
        if question is not None and question.answer is None:
            question.actor_thread.give_up()

    def drop_all(self) -> None:
        for seat in list(self._open):
            self.drop(seat)
