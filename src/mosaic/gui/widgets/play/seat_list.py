"""The seats of a session, a card each: who sits there, whose turn it is, and how it stands."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QVBoxLayout

from mosaic.gui.models.play.play_model import Play
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import ElidedLabel, Panel, chip, column, label, restyle, row
from mosaic.gui.widgets.play.actor_choice import ActorChoice
from mosaic.gui.widgets.play.copy_chart import CurveMark
from mosaic.gui.widgets.tool_button import IconTool


class SeatList(Panel):
    """Made anew when the seats are others; says what is chosen to the model."""

    problem_changed = Signal(str)
    """Why the chosen actors cannot play; empty if they can."""

    def __init__(self, play: Play, theme: Theme) -> None:
        super().__init__()
        self._play, self._theme = play, theme
        self.cards: dict[str, SeatCard] = {}
        self._title = label("", "section")
        self.add = IconTool(theme, "plus", "One more actor, in a copy of its own", play.add_copy)
        self._cards = QVBoxLayout()
        self._cards.setSpacing(6)
        column(self, row(self._title, 1, self.add), self._cards, spacing=6)
        play.offered.connect(self.show_seats)
        play.seated.connect(self.show_seats)
        self.show_seats()

    @property
    def is_needed(self) -> bool:
        """One seat is chosen in the row above."""
        return len(self._play.seating.seats) > 1

    def show_seats(self) -> None:
        play = self._play
        names = [seat.name for seat in play.seating.seats] if self.is_needed else []
        if names != list(self.cards) or any(card.removable != play.seating.is_lockstep for card in self.cards.values()):
            self._make(names)
        self._title.setText("SIDE BY SIDE" if play.seating.is_lockstep else "SEATS")
        self.add.setVisible(play.seating.is_lockstep)
        for seat in play.seating.seats if self.cards else ():
            self.cards[seat.name].choice.show_choices(play.choices(seat), play.seating.at(seat.name))
        problems = [f"{name}: {card.choice.problem}" for name, card in self.cards.items() if card.choice.problem]
        self.setVisible(self.is_needed)
        self.problem_changed.emit(problems[0] if problems else "")

    def show_state(self, state: Mapping[str, Any], *, lives: bool) -> None:
        for name, card in self.cards.items():
            card.show_state(state, name, lives=lives)

    def _make(self, names: Sequence[str]) -> None:
        while (item := self._cards.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self.cards = {name: SeatCard(name, at, self._play, self._theme) for at, name in enumerate(names)}
        for card in self.cards.values():
            self._cards.addWidget(card)


class SeatCard(QFrame):
    """One seat."""

    def __init__(self, name: str, place: int, play: Play, theme: Theme) -> None:
        super().__init__()
        self.setProperty("seat", True)
        self._play, self._name = play, name
        self.removable = play.seating.is_lockstep
        self._title = label(name, "heading")
        self._colour = CurveMark(theme, place)
        self._colour.setVisible(play.seating.is_lockstep)
        self.result = ElidedLabel("faint")
        self.total = label("", "muted")
        self.choice = ActorChoice(theme, stacked=True)
        self.choice.actor.setAccessibleName(f"Actor of {name}")
        self.choice.chosen.connect(partial(play.choose_actor, seat=name))
        self.take_over = chip("Take over", self._toggle)
        self.remove = IconTool(theme, "x", f"Remove {name}", partial(play.remove_copy, name))
        self.remove.setVisible(self.removable)
        self._control = ""
        above = row(self._colour, self._title, 1, self.total, self.remove, spacing=4)
        column(self, above, self.choice, self.result, row(1, self.take_over), margins=(8, 6, 8, 8), spacing=4)
        self.show_state({}, name, lives=False)

    def show_state(self, state: Mapping[str, Any], name: str, *, lives: bool) -> None:
        seat: Mapping[str, Any] = state.get("seats", {}).get(name) or {}
        lives = lives and bool(seat)
        self._control = str(seat.get("control", ""))
        self._mark(lives and state.get("turn") == name and not state.get("over"))
        total = state.get("returns", {}).get(name)
        self.total.setText(f"{float(total):g}" if total is not None else "")
        self.total.setToolTip("Return of this episode")
        self.result.setText(_result(state, name))
        self.result.setVisible(bool(self.result.text()))
        self.result.setToolTip(tip(self.result.text()))
        has_agent = seat.get("actor", "human") != "human"
        self.take_over.setVisible(lives and has_agent and not state.get("replay"))
        self.take_over.setText("Hand back" if self._control == "human" else "Take over")

    def _mark(self, is_turn: bool) -> None:
        """An edge in the accent colour: it is the turn of this seat."""
        if self.property("turn") != is_turn:
            restyle(self, "turn", is_turn)
            self.setAccessibleName(f"{self._name}, whose turn it is" if is_turn else self._name)

    def _toggle(self) -> None:
        wanted = "agent" if self._control == "human" else "human"
        self._play.tell("control", control=wanted, seat=self._name)


def _result(state: Mapping[str, Any], name: str) -> str:
    """Of all whole episodes: games between two are won and lost, anything else has a mean."""
    seats: Mapping[str, Mapping[str, Any]] = state.get("seats", {})
    score = state.get("score", {}).get(name)
    lengths: Mapping[str, int] = state.get("lengths") or {}
    length = lengths.get(name)
    parts = [f"step {length}"] if length is not None else []
    if score and len(seats) == 2 and length is None:
        parts.append(f"{score['won']} won, {score['drawn']} drawn, {score['lost']} lost")
    elif score:
        episodes = score["won"] + score["drawn"] + score["lost"]
        parts.append(f"mean {float(score['mean']):g} (n = {episodes})")
    if trained_with := seats.get(name, {}).get("trained_with"):
        parts.append(f"trained with {trained_with}")
    return "  ·  ".join(parts)
