"""A play session: one loop that asks, steps, records and shows, and listens to its controls between any two of these.

It waits in one place only (`_take`), for a message: an answer of an actor, a command of a person, or the time. So an
actor may take as long as it likes, and a command is obeyed while it does. Only a call into the environment can hold the
loop up; the watch reports that.
"""

import queue
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mosaic.errors import ActorFailed, EnvironmentFailed, MosaicError
from mosaic.play.actor import Choice, Outcome, View
from mosaic.play.actors.human import HumanActor
from mosaic.play.arena import Arena, Result
from mosaic.play.players import Player
from mosaic.play.recording import Recording
from mosaic.play.replay import Comparison
from mosaic.play.score import Score
from mosaic.play.seat import Answer, Hand
from mosaic.play.values import fits
from mosaic.play.watch import Watch
from mosaic.spec.episodes import Outcome as Ended
from mosaic.spec.run_config import PlayExtras

POLL_S = 0.05
LINGER_S = 1.0
"""How long the last picture of an episode stays before the next one begins, where somebody plays at a visible speed."""
MAX_SPEED = 1000.0
SEED_STEP = 2654435769
"""Between the seeds of the actors at one table: 2**32 divided by the golden ratio, which spreads them evenly."""

Reply = Callable[[str], None]


@dataclass(frozen=True)
class Command:
    data: dict[str, Any]
    reply: Reply


@dataclass
class Last:
    """The last step, for those who look."""

    seat: str = ""
    actor: str = ""
    choice: Choice | None = None
    reward: float = 0.0


@dataclass(kw_only=True)
class Hooks:
    """What the session tells others."""

    shown: Callable[[bool], None]
    """Something changed; True where somebody waits to see it."""
    idle: Callable[[], None]
    """Nothing happens just now."""
    ended: Callable[[str, int, float], None]
    """An episode is over: outcome, length, return of the first seat."""
    complain: Callable[[str], None]
    make_hand: Callable[[str, str], Hand | None]
    """A new agent for a seat, from its word."""


@dataclass
class Progress:
    """Where the session is."""

    episode: int = 0
    seed: int = 0
    t: int = 0
    global_step: int = 0
    observation: Any = None
    returns: dict[str, float] = field(default_factory=dict[str, float])
    over: Ended | Literal[""] = ""
    last: Last = field(default_factory=Last)
    score: Score = field(default_factory=Score)
    """Of all whole episodes so far."""


class Session:
    """Runs in the thread that owns the environment; `post` may be called from any other."""

    def __init__(
        self,
        arena: Arena,
        players: Mapping[str, Player],
        options: PlayExtras,
        *,
        seed: int,
        recording: Recording | None,
        comparison: Comparison | None = None,
        watch: Watch,
        hooks: Hooks,
        inbox: "queue.SimpleQueue[Answer | Command]",
    ) -> None:
        self.arena = arena
        self.players = players
        self.comparison = comparison
        self.now = Progress(seed=seed)
        self.speed = options.speed
        self.paused = options.paused
        self.reason = "paused until somebody says go" if options.paused else ""
        """Why it stands still, for people."""
        self.sends_pixels = False
        """Somebody wants to see observations that are pictures."""
        self._troubled = False
        """It stands still because an actor failed."""
        self.ending = False
        self.stopped = False
        """Somebody asked for the end."""
        self._options = options
        self._first_seed = seed
        self._recording = recording
        self._watch = watch
        self._hooks = hooks
        self._inbox = inbox
        self._answers: dict[int, Answer] = {}
        self._granted = 0
        """Steps that may be made although it is paused."""
        self._again: int | None = None
        """The seed of an episode that is to begin at once."""
        self._due_at = 0.0

    # From other threads.

    def stop(self) -> None:
        """Ask for the end, at the next step."""
        self.ending = self.stopped = True
        self._watch.ask_to_end()

    # The loop.

    def run(self) -> None:
        """Play until the last episode is over or somebody stops it."""
        while not self.ending and (not self._options.episodes or self.now.episode < self._options.episodes):
            try:
                self._episode()
            except EnvironmentFailed as error:
                self._trouble(error)
                self._wait_for_people(remake=True)
        self.reason = "the session is over"

    def _episode(self) -> None:
        now = self.now
        seed = self._next_seed() if self._again is None else self._again
        self._again = None
        now.episode, now.seed, now.t, now.over, now.last = now.episode + 1, seed, 0, "", Last()
        now.returns = dict.fromkeys(self.players, 0.0)
        self._reset()
        if self._recording is not None:
            seats = {seat: player.hand(1).word for seat, player in self.players.items()}
            self._recording.begin(now.episode, seed, seats, now.observation)
        outcome: Ended = "stopped"
        try:
            self._show(at_once=True)
            while not self._interrupted and not self._is_over():
                self._turn()
            outcome = self.now.over or "stopped"
            if outcome != "stopped":
                now.score.take(now.returns)
        finally:
            if self._recording is not None:
                self._recording.end(outcome, now.t, now.returns)
        self._hooks.ended(outcome, now.t, now.returns[self.arena.seats[0]])
        self._show(at_once=True)
        if now.over:
            self._linger()

    def _next_seed(self) -> int:
        """That of the next episode: of the list where there is one, and one more each time after it."""
        listed, played = self._options.seeds, self.now.episode
        return listed[played] if played < len(listed) else self._first_seed + played

    def _reset(self) -> None:
        with self._watch.over("reset()"):
            self.now.observation = self.arena.reset(self.now.seed)
        for at, player in enumerate(self.players.values()):
            player.begin(self._seed_of(at))
        if self.comparison is not None:
            self.comparison.begin(self.now.observation)

    def _seed_of(self, at: int) -> int:
        """Of the at-th actor: at one table they must not draw the same numbers, in copies they should."""
        apart = SEED_STEP * at if self.arena.order in ("turns", "together") else 0
        return (self.now.seed + apart) % 2**32

    @property
    def _interrupted(self) -> bool:
        return self.ending or self._again is not None

    def _turn(self) -> None:
        """One action: wait until it is due, ask for it, make the step."""
        t = self.now.t + 1
        player = self.players[self.arena.turn]
        view: View | None = None
        token, asked, asked_at = 0, None, 0.0
        try:
            while not self._interrupted and self.now.t == t - 1:
                hand = player.hand(t)
                if self.paused and not self._granted:
                    self._take(POLL_S)
                elif (wait_s := self._wait_s(hand)) > 0:
                    self._take(wait_s)
                elif (choice := player.overridden()) is not None:
                    self._apply(player, player.person or hand, choice)
                elif hand is not asked:
                    if asked is not None:
                        asked.give_up()
                    view = view or self._view(player)
                    self._answers.clear()
                    token, asked, asked_at = hand.ask(view), hand, time.monotonic()
                elif (answer := self._answers.pop(token, None)) is not None:
                    asked = None
                    self._use(player, hand, answer)
                else:
                    self._take(POLL_S)
                    if self._too_late(hand, asked_at):
                        asked_at = time.monotonic()
                        self._trouble(
                            ActorFailed(f"'{hand.word}' has not answered for {self._options.actor_timeout_s:g} s")
                        )
        finally:
            if asked is not None:
                asked.give_up()

    def _view(self, player: Player) -> View:
        # Only this thread may draw, so what an actor is to look at is drawn before it is asked.
        wanted = player.agent is not None and getattr(player.agent.actor, "wants_picture", False)
        return View(
            observation=self.arena.seen(player.seat),
            step=self.arena.acted(player.seat, self.now.t),
            seat=player.seat,
            info=self.arena.info,
            legal=self.arena.legal(player.seat),
            picture=self.arena.at(player.seat).render() if wanted else None,
        )

    def _wait_s(self, hand: Hand) -> float:
        """Until the next step is due; a person in an environment that waits for keys is due at once."""
        waits_for_keys = hand.is_person and getattr(hand.actor, "waits", False)
        # As fast as possible would be over before a person pressed a key: for people that means real time.
        if waits_for_keys or (self.speed == 0 and not hand.is_person):
            return 0.0
        return self._due_at - time.monotonic()

    def _too_late(self, hand: Hand, asked_at: float) -> bool:
        return not hand.is_person and not self.paused and time.monotonic() - asked_at > self._options.actor_timeout_s

    def _use(self, player: Player, hand: Hand, answer: Answer) -> None:
        choice, space = answer.choice, self.arena.at(player.seat).action_space
        if choice is None:
            # A person who was told too late that somebody else acts is simply asked again.
            if answer.problem:
                self._trouble(ActorFailed(answer.problem))
        elif not fits(choice.action, space):
            self._trouble(ActorFailed(f"'{hand.word}' chose {choice.action!r:.200}, which is no action of {space}"))
        elif reason := self.arena.refusal(player.seat, choice.action):
            if hand.is_person:
                # Somebody who is there is simply asked again.
                self.reason = f"the rules do not allow '{self._named(player, choice.action)}' now"
                self._show(at_once=True)
                return
            self._trouble(ActorFailed(f"'{hand.word}' ({player.seat}) chose {choice.action!r:.200}, {reason}"))
        else:
            self._apply(player, hand, choice)

    def _named(self, player: Player, action: Any) -> str:
        arena = self.arena.at(player.seat)
        at = int(action) - int(getattr(arena.action_space, "start", 0))
        return arena.action_names[at] if 0 <= at < len(arena.action_names) else str(action)

    def _apply(self, player: Player, hand: Hand, choice: Choice) -> None:
        now, action = self.now, choice.action
        began = time.monotonic()
        if not self.paused:
            self.reason = ""
        with self._watch.over("step()"):
            result = self.arena.step(action)
        self._take_in(player, hand, choice, result)
        now.global_step += 1
        if self._recording is not None:
            rewards = self.arena.rewards if len(self.players) > 1 else None
            self._recording.step(now.t, player.seat, hand.word, action, result, rewards=rewards)
        for news in self.arena.news:
            self.players[news.seat].tell(
                Outcome(
                    action=news.action,
                    observation=news.observation,
                    reward=news.reward,
                    terminated=news.terminated,
                    truncated=news.truncated,
                    info=news.info,
                )
            )
        if self.paused and self.arena.round_ends(player.seat):
            self._granted = max(0, self._granted - 1)
        rate = self.arena.steps_per_s * (self.speed or 1.0)
        # From when the last one was due, so that the rate holds on average; but nothing is caught up after a pause.
        self._due_at = max(self._due_at, began - 1 / rate) + 1 / rate
        self._show(at_once=hand.is_person or self.paused)

    def _take_in(self, player: Player, hand: Hand, choice: Choice, result: Result) -> None:
        """A step was made."""
        now = self.now
        now.t += 1
        now.observation = result[0]
        for seat, reward in self.arena.rewards.items():
            now.returns[seat] += reward
        now.last = Last(player.seat, hand.word, choice, result[1])
        now.over = self.arena.over
        if self.comparison is not None:
            self.comparison.step(now.t, result)

    def _linger(self) -> None:
        until = time.monotonic() + (LINGER_S if self._options.interactive and self.speed else 0.0)
        # A person who goes step by step looks at the last one as long as they like.
        while not self._interrupted and (time.monotonic() < until or (self.paused and not self._granted)):
            self._take(POLL_S)

    def _is_over(self) -> bool:
        """Whether the episode is; at the end of a recording a person may still go back in it."""
        replayed = self.comparison
        if replayed is None:
            return bool(self.now.over)
        while self.now.t >= replayed.length or self.now.over:
            if not self._options.interactive:
                self.ending = True
            elif not self.paused:
                self._pause("the recording ends here")
            while self.paused and not self._interrupted and self.now.t >= replayed.length:
                self._take(POLL_S)
            if self._interrupted:
                return True
            if not self.paused:
                self._again = replayed.recording.head.seed
                return True
        return False

    # Standing still.

    def _trouble(self, error: MosaicError) -> None:
        """Pause and say why, where a person can mend it; else this is the end."""
        if not self._options.interactive:
            raise error
        self._hooks.complain(str(error))
        self._pause(str(error), troubled=isinstance(error, ActorFailed))

    def _pause(self, reason: str, *, troubled: bool = False) -> None:
        self.paused, self._granted, self.reason, self._troubled = True, 0, reason, troubled
        self._show(at_once=True)

    def _go_on(self) -> None:
        self.paused, self.reason, self._troubled, self._due_at = False, "", False, 0.0

    def _wait_for_people(self, *, remake: bool) -> None:
        """The environment is broken: go on with a new one when somebody says so."""
        while self.paused and not self._interrupted:
            self._take(POLL_S)
        if remake and not self.ending:
            with self._watch.over("making the environment"):
                self.arena.remake()

    def _show(self, *, at_once: bool) -> None:
        self._hooks.shown(at_once)

    def _take(self, timeout_s: float) -> None:
        """Wait for one message, at most so long, and act on it."""
        try:
            message = self._inbox.get(timeout=min(timeout_s, POLL_S))
        except queue.Empty:
            self._hooks.idle()
            return
        if isinstance(message, Answer):
            if message.token:
                self._answers[message.token] = message
            elif message.problem:
                self._trouble(ActorFailed(message.problem))
            return
        try:
            self._do(message.data)
        except (MosaicError, KeyError, TypeError, ValueError) as error:
            problem = str(error) if isinstance(error, MosaicError) else f"the command is not complete: {error!r}"
            message.reply(problem)
        else:
            message.reply("")
        self._show(at_once=True)

    # What people ask for.

    def _do(self, data: dict[str, Any]) -> None:
        word = data["do"]
        if data.get("seat", self.arena.turn) not in self.players:
            raise ActorFailed(f"there is no seat '{data['seat']}'; there are {', '.join(self.players)}")
        player = self.players[data.get("seat", self.arena.turn)]
        match word:
            case "look":
                self.sends_pixels |= bool(data.get("pixels", False))
            case "keys":
                self._keys(data)
            case "act":
                self._act(data)
            case "pause":
                self._pause(str(data.get("reason", "paused")))
            case "continue":
                self._go_on()
            case "step":
                self.paused, self.reason = True, "paused"
                self._granted = max(1, int(data.get("steps", 1)))
            case "reset":
                self._again = int(data.get("seed", self._next_seed()))
                self.reason = "paused" if self.paused else ""
            case "stop":
                self.stop()
            case "speed":
                self.speed = min(max(float(data["speed"]), 0.0), MAX_SPEED)
                self._due_at = 0.0
            case "control":
                player.give_to(str(data["control"]))
                if self._troubled and player.control == "human":
                    # Whoever takes over from one who failed wants to play, not to press another button first.
                    self._go_on()
            case "actor":
                player.replace(self._hooks.make_hand(player.seat, str(data["actor"])))
            case "keymap":
                self._remap(data)
            case "seek":
                self._seek(int(data["step"]))
            case _:
                raise ActorFailed(f"'{word}' is no command")

    @property
    def person(self) -> Player:
        """Whom keys are for: the one whose turn it is if a person acts there, else the first for whom one does."""
        turn = self.players[self.arena.turn]
        return next((player for player in (turn, *self.players.values()) if player.control != "agent"), turn)

    def _human(self, player: Player) -> HumanActor:
        if player.human is None:
            raise ActorFailed("a person cannot act in this space: no keys fill it")
        return player.human

    def _keys(self, data: dict[str, Any]) -> None:
        down = [str(key) for key in data["down"]]
        axes = {str(name): float(value) for name, value in data.get("axes", {}).items()}
        meant = self._meant(data)
        for player in self.players.values():
            if player in meant:
                action = self._human(player).press(down, axes)
                if action is not None:
                    player.press(action)
            elif player.human is not None:
                player.human.let_go(down)

    def _meant(self, data: dict[str, Any]) -> list[Player]:
        """Who hears keys. Where it waits for them, only the one whose turn it is: a key is one move."""
        if "seat" in data:
            return [self.players[data["seat"]]]
        people = [player for player in self.players.values() if player.control != "agent"]
        if len(self.players) == 1 or any(not self._human(player).waits for player in people):
            return people
        return [player for player in people if player.seat == self.arena.turn]

    def _act(self, data: dict[str, Any]) -> None:
        player = self.players[data["seat"]] if "seat" in data else self.person
        if player.control == "agent" or (self.arena.order == "turns" and player.seat != self.arena.turn):
            raise ActorFailed(f"it is not a person's turn: {self.arena.turn} is to act")
        player.press(self._human(player).give(data["action"]))

    def _remap(self, data: dict[str, Any]) -> None:
        """Of one seat, or of all that have the same actions as the one whose keys are shown."""
        if "seat" in data:
            self._human(self.players[data["seat"]]).use(data["map"])
            return
        space = self.arena.at(self.person.seat).action_space
        self._human(self.person).use(data["map"])
        for player in self.players.values():
            if player.human is not None and self.arena.at(player.seat).action_space == space:
                player.human.use(data["map"])

    def _seek(self, step: int) -> None:
        """Go to a step of the recording: from the seed again where it lies behind."""
        if self.comparison is None:
            raise ActorFailed("only a replay can go to a step")
        step = min(max(step, 0), self.comparison.length)
        self._pause(f"at step {step}")
        if step < self.now.t or self.now.over:
            self.now.t, self.now.over, self.now.last = 0, "", Last()
            self.now.returns = dict.fromkeys(self.players, 0.0)
            self._reset()
        while self.now.t < step and not self.now.over:
            player = self.players[self.arena.turn]
            agent = player.agent
            assert agent is not None
            choice = agent.actor.select_action(self._view(player))
            with self._watch.over("step()"):
                result = self.arena.step(choice.action)
            self._take_in(player, agent, choice, result)
