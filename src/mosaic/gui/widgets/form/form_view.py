"""The train form as it is seen: the algorithm, then section by section the fields that its schema has."""

import time
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, QObject, QRect, QSettings, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QScrollArea, QVBoxLayout, QWidget

from mosaic.gui.assets import pixmap
from mosaic.gui.models.form.catalogue_model import CatalogueModel
from mosaic.gui.models.form.form_sections import OF_ENVIRONMENT, Section
from mosaic.gui.models.form.run_settings import ENV_ID
from mosaic.gui.models.form.train_form import TrainForm, is_of_environment
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.form.algorithm_picker import AlgorithmPicker
from mosaic.gui.widgets.form.env_picker import EnvPicker
from mosaic.gui.widgets.form.field_row import FieldRow
from mosaic.gui.widgets.labels_and_buttons import column, label
from mosaic.gui.widgets.value_editors import make_editor

SLICE_S = 0.03
"""Lines are made this long before other events get their turn."""


class FormView(QScrollArea):
    """Lines by path; those of a closed section are made when it is opened."""

    focused = Signal(str)
    """The path of the field that is typed into."""

    def __init__(self, form: TrainForm, catalogue: CatalogueModel, theme: Theme, settings: QSettings) -> None:
        super().__init__()
        self._form, self._catalogue, self._theme, self._settings = form, catalogue, theme, settings
        self.rows: dict[str, FieldRow] = {}
        self.sections: dict[str, SectionView] = {}
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        page = QWidget()
        page.setProperty("panel", True)
        page.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._page = QVBoxLayout(page)
        # The scroll bar has its room whether it is there or not.
        self._page.setContentsMargins(14, 8, 4, 14)
        self._page.setSpacing(6)
        self.algorithm = AlgorithmPicker(catalogue, form, theme)
        self._page.addWidget(label("ALGORITHM", "section"))
        self._page.addWidget(self.algorithm)
        self._page.addWidget(self.algorithm.explanation)
        self._page.addSpacing(4)
        self._first_section = self._page.count()
        self._page.addStretch(1)
        self.setWidget(page)
        self._to_open: list[SectionView] = []
        self._open_soon = QTimer(self, singleShot=True)
        self._open_soon.timeout.connect(self._open_some)
        form.rebuilt.connect(self._rebuild)
        form.settings_rebuilt.connect(self._rebuild_settings)
        form.field_changed.connect(self._refresh)

    def reveal(self, path: str) -> None:
        """Open the section of a field and scroll to it."""
        for section in self._form.sections:
            if path in section.paths:
                self.sections[section.title].open()
        if path in self.rows:
            # The page has its new height with the next round of events.
            QTimer.singleShot(0, self.rows[path], partial(self.ensureWidgetVisible, self.rows[path], 0, 40))

    def reveal_problem(self) -> None:
        """The first field that is wrong."""
        for path, field in self._form.fields.items():
            if field.problem and self._form.is_shown(path):
                self.reveal(path)
                return

    def _rebuild(self) -> None:
        """Other fields: the old lines go, those of open sections are made."""
        self.algorithm.show_chosen()
        self.remember()
        for view in self.sections.values():
            view.hide()
            view.deleteLater()
        self.rows.clear()
        self.sections.clear()
        for place, section in enumerate(self._form.sections):
            self._add_section(place, section)
        self._to_open = [self.sections[one.title] for one in self._form.sections if self._was_open(one)]
        self._open_some()

    def _add_section(self, place: int, section: Section) -> None:
        view = SectionView(self._theme, section.title, make=partial(self._make_rows, section))
        self.sections[section.title] = view
        self._page.insertWidget(self._first_section + place, view)
        self._show_badge(section)

    def _rebuild_settings(self) -> None:
        """Of the environment alone: its id is being typed, in a line that must stay."""
        view = self.sections.pop(OF_ENVIRONMENT, None)
        was_open = view.is_open if view is not None else None
        if view is not None:
            view.hide()
            view.deleteLater()
        shown = {path for section in self._form.sections for path in section.paths}
        self.rows = {path: line for path, line in self.rows.items() if path in shown and not is_of_environment(path)}
        for place, section in enumerate(self._form.sections):
            if section.title == OF_ENVIRONMENT:
                self._add_section(place, section)
                if was_open if was_open is not None else self._was_open(section):
                    self.sections[section.title].open()

    def _open_some(self) -> None:
        """Make lines from top to bottom; what takes too long for one go is gone on with in the next."""
        deadline = time.monotonic() + SLICE_S
        while self._to_open and time.monotonic() < deadline:
            self._to_open.pop(0).open()
        if self._to_open:
            self._open_soon.start()

    def _make_rows(self, section: Section, lines: QVBoxLayout) -> None:
        for path in section.paths:
            field = self._form.fields[path]
            typed = partial(self._form.type, path)
            if path == ENV_ID:
                picker = EnvPicker(self._catalogue, self._form, self._theme, typed)
                editor = picker, picker
            else:
                editor = make_editor(field.setting, self._theme, typed)
            row = FieldRow(field, self._theme, editor, partial(self._form.reset, path))
            row.editor.installEventFilter(self)
            lines.addWidget(row)
            if not self._form.is_shown(path):
                row.hide()
            self.rows[path] = row

    def _refresh(self, path: str) -> None:
        if path in self.rows:
            self.rows[path].refresh(self._form.fields[path])
        if self._form.governs(path):
            for other, row in self.rows.items():
                row.setVisible(self._form.is_shown(other))
        for section in self._form.sections:
            if path in section.paths:
                self._show_badge(section)

    def _show_badge(self, section: Section) -> None:
        fields = [self._form.fields[path] for path in section.paths if self._form.is_shown(path)]
        wrong, changed = sum(bool(field.problem) for field in fields), sum(field.is_changed for field in fields)
        heading = self.sections[section.title].heading
        if wrong:
            heading.show_badge(f"{wrong} error" if wrong == 1 else f"{wrong} errors", "bad")
        else:
            heading.show_badge(f"{changed} changed" if changed else "", "accent")

    def _was_open(self, section: Section) -> bool:
        stored = self._settings.value(f"form/{section.title}")
        # True as long as it is in memory, "true" once it was in the file.
        return section.is_open if stored is None else str(stored).lower() == "true"

    def remember(self) -> None:
        """Which sections are open, for the next window."""
        for view in self.sections.values():
            is_open = view.is_open or view in self._to_open
            self._settings.setValue(f"form/{view.heading.text()}", is_open)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Not by QApplication.focusChanged, which also hands out widgets that are just being destroyed.
        if event.type() == QEvent.Type.FocusIn:
            self.focused.emit(str(watched.property("path")))
        return super().eventFilter(watched, event)


CHEVRON = 14


class Heading(QAbstractButton):
    """Title in small capitals, how much of it was changed, and a chevron."""

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__()
        self._theme = theme
        self._badge, self._tone = "", "accent"
        self.setText(title)
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(title)
        font = QFont(self.font())
        font.setPixelSize(11)
        font.setWeight(QFont.Weight.DemiBold)
        font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, 0.8)
        self.setFont(font)

    def show_badge(self, text: str, tone: str) -> None:
        if (text, tone) != (self._badge, self._tone):
            self._badge, self._tone = text, tone
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self.text().upper()) + 120, 22)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        place, middle = self.rect(), Qt.AlignmentFlag.AlignVCenter
        painter.setPen(self._theme.colour("accent" if self.hasFocus() else "muted"))
        painter.drawText(place, middle | Qt.AlignmentFlag.AlignLeft, self.text().upper())
        icon = "chevron-down" if self.isChecked() else "chevron-right"
        painter.drawPixmap(
            place.width() - CHEVRON, (place.height() - CHEVRON) // 2, pixmap(self._theme, icon, "faint", CHEVRON)
        )
        if self._badge:
            painter.setPen(self._theme.colour(self._tone))
            room = QRect(place.left(), place.top(), place.width() - CHEVRON - 6, place.height())
            painter.drawText(room, middle | Qt.AlignmentFlag.AlignRight, self._badge)


class SectionView(QWidget):
    """`make` fills the body when the section is first open."""

    def __init__(self, theme: Theme, title: str, *, make: Callable[[QVBoxLayout], None]) -> None:
        super().__init__()
        self.heading = Heading(theme, title)
        self._make: Callable[[QVBoxLayout], None] | None = make
        self._body = QWidget()
        self._lines = QVBoxLayout(self._body)
        self._lines.setContentsMargins(0, 2, 0, 6)
        self._lines.setSpacing(8)
        column(self, self.heading, self._body, spacing=2)
        self._body.hide()
        self.heading.toggled.connect(self._open)

    @property
    def is_open(self) -> bool:
        return self.heading.isChecked()

    def open(self) -> None:
        self.heading.setChecked(True)

    def _open(self, is_open: bool) -> None:
        if is_open and self._make is not None:
            make, self._make = self._make, None
            make(self._lines)
        self._body.setVisible(is_open)
