"""The row in which a session is chosen: family, environment, seed, actor, speed."""

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QIntValidator, QPaintEvent, QStandardItemModel
from PySide6.QtWidgets import (
    QCompleter,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QWidget,
)

from mosaic.gui.assets import pixmap
from mosaic.gui.models.play import SPEEDS, Play
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.choice_chip import ChoiceChip
from mosaic.gui.widgets.editors import CHEVRON, Choice
from mosaic.gui.widgets.tool_button import IconTool
from mosaic.spec.actors import split

FAMILY_WIDTH, ENV_WIDTH, ACTOR_WIDTH = 104, 150, 130
"""At least; they share what there is more."""


class Typable(Choice):
    """A list that can be typed into: the line draws the text, not the list."""

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        x, y = self.width() - CHEVRON - 8, (self.height() - CHEVRON) // 2
        painter.drawPixmap(x, y, pixmap(self.theme, "chevron-down", "muted", CHEVRON))


class PlaySetup(QWidget):
    """Says what is chosen to the model, and shows what that makes of it."""

    problem_changed = Signal(str)
    """Why the actor that is chosen cannot act there; empty if it can."""

    def __init__(self, play: Play, theme: Theme) -> None:
        super().__init__()
        self._play = play
        self.family, self.environment, self.actor = Choice(theme), Typable(theme), Choice(theme)
        for choice, width, name in (
            (self.family, FAMILY_WIDTH, "Family"),
            (self.environment, ENV_WIDTH, "Environment"),
            (self.actor, ACTOR_WIDTH, "Actor"),
        ):
            choice.setMinimumWidth(width)
            choice.setAccessibleName(name)
            choice.setToolTip(name)
        self.seed = QLineEdit("1")
        self.seed.setFixedWidth(48)
        self.seed.setToolTip("Seed of the first episode")
        self.seed.setAccessibleName("Seed")
        self.seed.setValidator(QIntValidator(0, 2**31 - 1, self.seed))
        self.argument = QLineEdit()
        self.argument.setMinimumWidth(60)
        self.browse = IconTool(theme, "folder-open", "Choose a file", self._browse)
        self.speed = ChoiceChip("speed", {name: (name, _long(name)) for name in SPEEDS}, self._set_speed)
        self.speed.choose(play.speed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        for widget, stretch in (
            (self.family, 2),
            (self.environment, 4),
            (self.seed, 0),
            (self.actor, 3),
            (self.argument, 2),
            (self.browse, 0),
            (self.speed, 0),
        ):
            layout.addWidget(widget, stretch)
        self.environment.setEditable(True)
        self.environment.setInsertPolicy(Choice.InsertPolicy.NoInsert)
        completer = self.environment.completer()
        assert completer is not None
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self.family.activated.connect(self._family_chosen)
        self.environment.activated.connect(self._environment_chosen)
        line = self.environment.lineEdit()
        assert line is not None
        self._line = line
        line.editingFinished.connect(self._environment_chosen)
        self.actor.activated.connect(self._actor_chosen)
        self.argument.editingFinished.connect(self._argument_typed)
        self.seed.editingFinished.connect(self._seed_typed)
        play.offered.connect(self.show_offer)
        self.show_offer()

    def show_offer(self) -> None:
        play = self._play
        families = list(play.offer.families)
        self._fill(self.family, families, play.family)
        ids = list(play.offer.families.get(self.family.currentText() or play.family, {}))
        self._fill(self.environment, ids, play.env_id)
        self.environment.setEditText(play.env_id)
        self._line.setCursorPosition(0)
        self._show_actors()

    def _show_actors(self) -> None:
        choices = self._play.choices()
        name, argument = split(self._play.actor)
        self.actor.blockSignals(True)
        self.actor.clear()
        for at, choice in enumerate(choices):
            self.actor.addItem(f"{choice.label}: {choice.misfit}" if choice.misfit else choice.label, choice.word)
            self.actor.setItemData(at, choice.misfit or choice.description, Qt.ItemDataRole.ToolTipRole)
            model = self.actor.model()
            if choice.misfit and isinstance(model, QStandardItemModel):
                model.item(at).setEnabled(False)
        words = [choice.word for choice in choices]
        wanted = self._play.actor if self._play.actor in words else name if name in words else ""
        self.actor.setCurrentIndex(words.index(wanted) if wanted else -1)
        self.actor.view().setMinimumWidth(320)
        self.actor.blockSignals(False)
        chosen = next((choice for choice in choices if choice.word == wanted), None)
        needs = chosen is not None and bool(chosen.argument)
        self.argument.setVisible(needs)
        self.browse.setVisible(needs)
        if needs and chosen is not None:
            self.argument.setPlaceholderText(chosen.argument)
            self.argument.setText(argument)
        problem = chosen.misfit if chosen else "choose an actor" if choices else ""
        # In brackets where the actor can do without, as a command line writes it.
        if not problem and needs and not argument and chosen is not None and not chosen.argument.startswith("["):
            problem = f"say which: {chosen.argument}"
        self.problem_changed.emit(problem)

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

    def _environment_chosen(self) -> None:
        self._play.choose_environment(self.environment.currentText().strip())

    def _actor_chosen(self, index: int) -> None:
        self._play.choose_actor(str(self.actor.itemData(index)))
        self._show_actors()

    def _argument_typed(self) -> None:
        name, argument = split(self._play.actor)[0], self.argument.text().strip()
        word = f"{name}:{argument}" if argument else name
        if word != self._play.actor:
            self._play.choose_actor(word)
            self._show_actors()

    def _seed_typed(self) -> None:
        self._play.seed = int(self.seed.text() or 0)

    def _set_speed(self) -> None:
        self._play.choose_speed(self.speed.chosen)

    def _browse(self) -> None:
        dialog = QFileDialog(self, "Choose a file")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(partial(self._take_file))
        dialog.open()

    def _take_file(self, path: str) -> None:
        self.argument.setText(path)
        self._argument_typed()


def _long(name: str) -> str:
    return {"1×": "Real time", "max": "As fast as possible"}.get(name, f"{name} real time")
