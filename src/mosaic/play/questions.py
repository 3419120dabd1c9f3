"""Questions to actors that are still open, one a seat, and the answers that came to them."""

import time
from dataclasses import dataclass

from mosaic.play.actor import View
from mosaic.play.seat import Answer, Hand


@dataclass
class Question:
    hand: Hand
    token: int
    asked_at: float
    answer: Answer | None = None


class Questions:
    def __init__(self) -> None:
        self._open: dict[str, Question] = {}

    def at(self, seat: str) -> Question | None:
        return self._open.get(seat)

    def ask(self, seat: str, hand: Hand, view: View) -> None:
        """Whoever was asked for this seat before need not answer any more."""
        self.drop(seat)
        self._open[seat] = Question(hand, hand.ask(view), time.monotonic())

    def take(self, answer: Answer) -> None:
        """One that nobody waits for any more is for nobody."""
        for question in self._open.values():
            if question.token == answer.token:
                question.answer = answer

    def drop(self, seat: str) -> None:
        question = self._open.pop(seat, None)
        # One who has answered already does not wait, and would be told to stop waiting the next time.
        if question is not None and question.answer is None:
            question.hand.give_up()

    def drop_all(self) -> None:
        for seat in list(self._open):
            self.drop(seat)
