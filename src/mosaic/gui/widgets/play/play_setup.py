"""The row in which a session is chosen: family, environment, seed, actor where one plays; and the speed."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from mosaic.gui.models.form.catalogue_model import is_found
from mosaic.gui.models.play.play_model import SPEEDS, Play
from mosaic.gui.models.play.play_options import Known
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.choice_chip import ChoiceChip
from mosaic.gui.widgets.form.environment_dialog import EnvironmentButton
from mosaic.gui.widgets.grouped_picker import GroupedPicker, Offer
from mosaic.gui.widgets.labels_and_buttons import row
from mosaic.gui.widgets.play.actor_choice import ActorChoice
from mosaic.gui.widgets.tool_button import IconTool
from mosaic.gui.widgets.value_editors import Choice
from mosaic.numbers import parse_int

FAMILY_WIDTH, ENV_WIDTH = 128, 104
"""At least; they share what there is more."""
HIGHEST_SEED = 2**31 - 1


class PlaySetup(QWidget):
    """Says what is chosen to the model, and shows what that makes of it."""

    problem_changed = Signal(str)
    """Why the actor that is chosen cannot act there; empty if it can."""

    def __init__(self, play: Play, theme: Theme) -> None:
        super().__init__()
        self._play = play
        self.family = Choice(theme)
        self.environment = GroupedPicker(theme, self._offers, "Search environments…", free=True)
        self.one = ActorChoice(theme, stacked=False)
        for choice, width, name in (
            (self.family, FAMILY_WIDTH, "Family"),
            (self.environment, ENV_WIDTH, "Environment"),
        ):
            choice.setMinimumWidth(width)
            choice.setAccessibleName(name)
            choice.setToolTip(tip(name))
        self._shown_id = ""
        """The environment that the field was last told."""
        self.settings = EnvironmentButton(play.environment, theme)
        self.seed = QLineEdit("1")
        self.seed.setFixedWidth(48)
        self.seed.setToolTip("Seed of the first episode")
        self.seed.setAccessibleName("Seed")
        self.beside = IconTool(
            theme, "copy-plus", "Side by side: one more actor, in a copy of its own, from the same seed", play.add_copy
        )
        # It stands with the buttons that it is about.
        self.speed = ChoiceChip("speed", {name: (name, _long(name)) for name in SPEEDS}, self._set_speed)
        self.speed.choose(play.speed)
        # Ids of environments are the longest words here.
        fields = ((self.family, 2), (self.environment, 7), self.settings, self.seed)
        row(*fields, (self.one, 3), self.beside, of=self, spacing=6)
        self.family.activated.connect(self._family_chosen)
        self.environment.chosen.connect(play.choose_environment)
        self.environment.editingFinished.connect(self._environment_typed)
        self.one.chosen.connect(self._actor_chosen)
        self.seed.editingFinished.connect(self._seed_typed)
        play.offered.connect(self.show_offer)
        play.seated.connect(self._show_actor)
        play.environment.field_changed.connect(lambda _="": self._show_actor())
        self.show_offer()

    def show_offer(self) -> None:
        play = self._play
        families = list(play.offer.families)
        self._fill(self.family, families, play.family)
        if play.env_id != self._shown_id:
            # Only another choice is shown: what is being typed belongs to the user until it is chosen.
            self._shown_id = play.env_id
            self.environment.show_text(play.env_id)
            self.environment.setToolTip(tip(f"Environment {play.env_id}"))
        self._show_actor()

    def _show_actor(self) -> None:
        """Here where one plays; several have cards of their own."""
        play = self._play
        alone = len(play.seating.seats) == 1
        self.one.setVisible(alone)
        self.beside.setVisible(alone and play.seating.may_have_copies)
        if alone:
            [seat] = play.seating.seats
            self.one.show_choices(play.choices(seat), play.seating.at(seat.name))
        self.problem_changed.emit(play.environment_problem or (self.one.problem if alone else ""))

    def _fill(self, choice: Choice, texts: list[str], current: str) -> None:
        if [choice.itemText(at) for at in range(choice.count())] != texts:
            choice.blockSignals(True)
            choice.clear()
            choice.addItems(texts)
            choice.blockSignals(False)
        if current in texts:
            choice.setCurrentIndex(texts.index(current))

    def _family_chosen(self, index: int) -> None:
        ids = list(self._play.offer.families.get(self.family.itemText(index), {}))
        if ids:
            self._play.choose_environment(ids[0])

    def _offers(self, typed: str) -> list[Offer]:
        """The environments that hold every word, by family."""
        found: list[Offer] = []
        for family, known in self._play.offer.families.items():
            ids = [Offer(env_id, aside=_kind_of(known[env_id])) for env_id in known if is_found(env_id, family, typed)]
            found += [Offer(family, "heading"), *ids] if ids else []
        return found

    def _environment_typed(self) -> None:
        self._play.choose_environment(self.environment.text().strip())

    def _actor_chosen(self, word: str) -> None:
        self._play.choose_actor(word, self._play.seating.seats[0].name)

    def _seed_typed(self) -> None:
        try:
            seed = parse_int(self.seed.text() or "0")
            if not 0 <= seed <= HIGHEST_SEED:
                raise ValueError(f"must be from 0 to {HIGHEST_SEED}")
        except ValueError as error:
            self.problem_changed.emit(f"Seed '{self.seed.text()}' {error}")
        else:
            self._play.seed = seed
        self.seed.setText(str(self._play.seed))

    def _set_speed(self) -> None:
        self._play.choose_speed(self.speed.chosen)


def _kind_of(known: Known) -> str:
    return known.seats[0].actions if len(known.seats) == 1 else f"{len(known.seats)} seats"


def _long(name: str) -> str:
    return {"1×": "Real time", "max": "As fast as possible"}.get(name, f"{name} real time")
