"""The return of each copy in lock-step over the steps of its episode, as far as the session has told of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from mosaic.gui.models.play.play_session import PlaySession

MOST_POINTS = 2000
"""Of a curve; from there on each second point is left out, so that a long episode stays whole."""
Point = tuple[int, float]


class CopyCurves:
    """Begins anew with each episode. At full speed a session does not tell of each step: the others are not drawn."""

    def __init__(self) -> None:
        self.curves: Mapping[str, Sequence[Point]] = {}
        """By copy, in the order of the seats."""
        self._about: tuple[PlaySession | None, object] = (None, None)
        self._lengths: dict[str, int] = {}

    @property
    def is_empty(self) -> bool:
        return not self.curves

    def take(self, session: PlaySession | None, state: Mapping[str, Any]) -> bool:
        """Whether there is something new to draw."""
        lengths: Mapping[str, int] = state.get("lengths") or {}
        about = (session, state.get("episode"))
        is_other = about != self._about or list(lengths) != list(self.curves)
        # A person may go back in a recording.
        went_back = any(length < self._lengths.get(seat, 0) for seat, length in lengths.items())
        if is_other or went_back:
            self._about, self._lengths = about, {}
            self.curves = {seat: [(0, 0.0)] for seat in lengths}
        grew = {seat: length for seat, length in lengths.items() if length > self._lengths.get(seat, 0)}
        returns: Mapping[str, Any] = state.get("returns") or {}
        for seat, length in grew.items():
            points = [*self.curves[seat], (length, float(returns.get(seat, 0.0)))]
            self.curves = {**self.curves, seat: points[::2] + points[-1:] if len(points) > MOST_POINTS else points}
        self._lengths |= grew
        return is_other or went_back or bool(grew)
