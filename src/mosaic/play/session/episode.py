"""The course of an episode: the environment and its players, from a seed on, step by step; recorded, and compared."""

from collections.abc import Mapping

from mosaic.errors import ActorFailed
from mosaic.play.actor import Choice, View
from mosaic.play.actor_thread import ActorThread
from mosaic.play.arenas.arena import Arena, Result
from mosaic.play.recording.episode_writer import EpisodeWriter
from mosaic.play.recording.replay_check import ReplayCheck
from mosaic.play.session.player import Player
from mosaic.play.session.session_progress import Last, SessionProgress
from mosaic.play.session.watchdog import Watchdog
from mosaic.spec.episode_file import Outcome as Ended

SEED_STEP = 2654435769
"""Between the seeds of the actors at one table: 2**32 divided by the golden ratio, which spreads them evenly."""


class PlayedEpisode:
    """Only calls into the environment take time here, and the watch is over each of them."""

    def __init__(
        self,
        arena: Arena,
        players: Mapping[str, Player],
        *,
        seed: int,
        recording: EpisodeWriter | None,
        comparison: ReplayCheck | None,
        watch: Watchdog,
    ) -> None:
        self.arena = arena
        self.players = players
        self.comparison = comparison
        self.now = SessionProgress(seed=seed)
        self.watch = watch
        self._recording = recording

    @property
    def player(self) -> Player:
        """Whose turn it is."""
        return self.players[self.arena.turn]

    def begin(self, seed: int) -> None:
        """The next episode."""
        self.now.episode, self.now.seed = self.now.episode + 1, seed
        self._from_seed()
        if self._recording is not None:
            seats = {seat: player.actor_thread(1).word for seat, player in self.players.items()}
            self._recording.begin(self.now.episode, seed, seats, self.now.observation)

    def step(self, player: Player, actor_thread: ActorThread, choice: Choice) -> None:
        """The action of the seat whose turn it is; every actor hears the outcome of its own."""
        now = self.now
        result = self._step(player, actor_thread, choice)
        now.global_step += 1
        if self._recording is not None:
            rewards = self.arena.rewards if len(self.players) > 1 else None
            self._recording.step(now.t, player.seat, actor_thread.word, choice.action, result, rewards=rewards)
        for news in self.arena.news:
            self.players[news.seat].tell(news)

    def end(self, outcome: Ended) -> None:
        if outcome != "stopped":
            self.now.score.take(self.now.returns)
        if self._recording is not None:
            self._recording.end(outcome, self.now.t, self.now.returns)

    def go_to(self, step: int) -> None:
        """A step of the recording that is replayed: from the seed again where it lies behind."""
        if self.comparison is None:
            raise ActorFailed("only a replay can go to a step")
        step = min(max(step, 0), self.comparison.length)
        if step < self.now.t or self.now.over:
            self._from_seed()
        while self.now.t < step and not self.now.over:
            player = self.player
            assert player.agent is not None
            self._step(player, player.agent, player.agent.actor.select_action(self.view(player)))

    def remake(self) -> None:
        """Another environment, for one that is broken."""
        with self.watch.over("making the environment"):
            self.arena.remake()

    def view(self, player: Player, *, ahead: int = 0) -> View:
        """What this one is to decide on; `ahead` says how many act in the same round before it does."""
        # Only this thread may draw, so what an actor is to look at is drawn before it is asked.
        wanted = player.agent is not None and getattr(player.agent.actor, "wants_picture", False)
        return View(
            observation=self.arena.seen(player.seat),
            step=self.arena.acted(player.seat, self.now.t + ahead),
            seat=player.seat,
            info=self.arena.info_at(player.seat),
            legal=self.arena.legal(player.seat),
            picture=self.arena.at(player.seat).render() if wanted else None,
        )

    def _from_seed(self) -> None:
        now = self.now
        now.t, now.over, now.last = 0, "", Last()
        now.returns = dict.fromkeys(self.players, 0.0)
        with self.watch.over("reset()"):
            now.observation = self.arena.reset(now.seed)
        for at, player in enumerate(self.players.values()):
            player.begin(self._seed_of(at))
        if self.comparison is not None:
            self.comparison.begin(now.observation)

    def _seed_of(self, at: int) -> int:
        """Of the at-th actor: at one table they must not draw the same numbers, in copies they should."""
        apart = SEED_STEP * at if self.arena.order in ("turns", "together") else 0
        return (self.now.seed + apart) % 2**32

    def _step(self, player: Player, actor_thread: ActorThread, choice: Choice) -> Result:
        now = self.now
        with self.watch.over("step()"):
            result = self.arena.step(choice.action)
        now.t += 1
        now.observation = result[0]
        for seat, reward in self.arena.rewards.items():
            now.returns[seat] += reward
        now.last = Last(player.seat, actor_thread.word, choice, result[1])
        now.over = self.arena.over
        if self.comparison is not None:
            self.comparison.step(now.t, result)
        return result
