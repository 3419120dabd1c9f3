"""An actor in a thread of its own, asked without waiting; what it answers or raises comes as a message."""

import itertools
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mosaic.errors import MosaicError
from mosaic.play.actor import Actor, Cancelled, Choice, Outcome, View

_tokens = itertools.count(1)


@dataclass(frozen=True)
class Answer:
    """What came of a question; an answer without a question (token 0) is a reset or an observation that failed."""

    actor_thread: "ActorThread"
    token: int
    choice: Choice | None
    problem: str = ""


class ActorThread:
    """Never makes its caller wait, whatever the actor does; one that hangs is left behind with its thread."""

    def __init__(self, word: str, actor: Actor, post: Callable[[Answer], None]) -> None:
        self.word = word
        self.actor = actor
        self._post = post
        self._jobs: queue.SimpleQueue[tuple[str, int, Any]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=f"actor {word}", daemon=True)
        self._thread.start()

    @property
    def is_person(self) -> bool:
        return hasattr(self.actor, "press")

    def begin(self, seed: int) -> None:
        self._jobs.put(("reset", 0, seed))

    def ask(self, view: View) -> int:
        """The token that its answer will carry."""
        token = next(_tokens)
        self._jobs.put(("select_action", token, view))
        return token

    def tell(self, outcome: Outcome) -> None:
        self._jobs.put(("observe", 0, outcome))

    def give_up(self) -> None:
        """The session waits for its answer no more; only a person must be told."""
        cancel: Any = getattr(self.actor, "cancel", None)
        if cancel is not None:
            cancel()

    def close(self) -> None:
        self.give_up()
        self._jobs.put(("close", 0, None))

    def wait_closed(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def _work(self) -> None:
        while True:
            call, token, argument = self._jobs.get()
            try:
                if call == "close":
                    self.actor.close()
                    return
                result: Any = getattr(self.actor, call)(argument)
            except Cancelled:
                self._post(Answer(self, token, None))
                continue
            except Exception as error:  # A border: a user's actor may raise anything.
                said = f": {error}" if isinstance(error, MosaicError) else f" raised in {call}(): {error!r}"
                self._post(Answer(self, token, None, f"'{self.word}'{said}"))
                if call == "close":
                    return
                continue
            if token:
                self._post(_checked(self, token, result))


def _checked(actor_thread: ActorThread, token: int, result: Any) -> Answer:
    if isinstance(result, Choice):
        return Answer(actor_thread, token, result)
    return Answer(actor_thread, token, None, f"'{actor_thread.word}' returned {result!r:.200}, which is not a Choice")
