"""Who sits where, remembered for each environment: its seats, or copies of it in which actors play side by side."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from PySide6.QtCore import QSettings

from mosaic.gui.models.play.play_options import Seat
from mosaic.spec.actors import split
from mosaic.spec.seat_names import SEAT, has_several

MOST_COPIES = 16
POLICY = "policy"
FIRST, OTHERS = "human", "random"
"""The actor of a seat for which the user has chosen none yet."""


class Seating:
    """Of one environment at a time; `seats` are in the order in which they act."""

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings
        self._key = ""
        self._own: Sequence[Seat] = (Seat(SEAT),)
        self._several = False
        self._words: dict[str, str] = {}
        self._copies: list[str] = []

    def use(self, env_id: str, seats: Sequence[Seat], *, keeps: bool = False) -> None:
        """Another environment, or more is known of this one.

        With `keeps` copies that stand side by side go on side by side in an environment for which none were chosen.
        """
        before = self._copies
        # A slash would make a folder of it.
        self._key = env_id.replace("/", "_")
        self._own = seats or (Seat(SEAT),)
        self._several = has_several(env_id)
        self._words = {seat: str(word) for seat, word in self._read("seats").items()}
        single = self._settings.value(f"play/actor/{self._key}")
        if single:
            self._words.setdefault(SEAT, str(single))
        self._copies = [str(word) for word in self._read("copies").values()] if self.may_have_copies else []
        if keeps and before and not self._copies and self.may_have_copies:
            # A policy of one environment says nothing of another.
            self._copies = [OTHERS if split(word)[0] == POLICY else word for word in before]
            self._write_copies()

    @property
    def seats(self) -> list[Seat]:
        if not self._copies:
            return list(self._own)
        return [replace(self._own[0], name=f"copy_{at}") for at in range(1, len(self._copies) + 1)]

    @property
    def is_lockstep(self) -> bool:
        return bool(self._copies)

    @property
    def may_have_copies(self) -> bool:
        """An environment for several is not copied."""
        return len(self._own) == 1 and not self._several

    @property
    def actors(self) -> dict[str, str]:
        """The word of every seat."""
        return {seat.name: self.at(seat.name) for seat in self.seats}

    def at(self, seat: str) -> str:
        if self._copies:
            return self._copies[self._place(seat)]
        return self._words.get(seat) or (FIRST if seat == self._own[0].name else OTHERS)

    def choose(self, seat: str, word: str) -> None:
        if self._copies:
            self._copies[self._place(seat)] = word
            self._write_copies()
        else:
            self._words[seat] = word
            self._write("seats", self._words)

    def add_copy(self) -> None:
        """One more actor, beside those that are there, each in a copy of its own."""
        if self.may_have_copies and len(self._copies) < MOST_COPIES:
            self._copies = [*(self._copies or [self.at(SEAT)]), OTHERS]
            self._write_copies()

    def remove_copy(self, seat: str) -> None:
        """The one that is left of two plays alone."""
        del self._copies[self._place(seat)]
        if len(self._copies) == 1:
            word = self._copies[0]
            self._copies = []
            self.choose(SEAT, word)
        self._write_copies()

    def _place(self, seat: str) -> int:
        return int(seat.rpartition("_")[2]) - 1

    def _read(self, what: str) -> dict[str, Any]:
        """What was remembered; a document that the studio did not write is ignored."""
        try:
            found: Any = json.loads(str(self._settings.value(f"play/{what}/{self._key}") or "{}"))
        except ValueError:
            return {}
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}

    def _write_copies(self) -> None:
        self._write("copies", {str(at): word for at, word in enumerate(self._copies)})

    def _write(self, what: str, value: object) -> None:
        self._settings.setValue(f"play/{what}/{self._key}", json.dumps(value))
