"""The look: one table of colours for dark and light, a palette and a style sheet on Fusion made from it."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from string import Template
from typing import Literal, TypeAlias

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from mosaic.spec.states import RunState

Scheme: TypeAlias = Literal["dark", "light"]


@dataclass(frozen=True)
class Tokens:
    """Colours by what they are for."""

    window: str
    panel: str
    raised: str
    field: str
    selected: str
    line: str
    text: str
    muted: str
    faint: str
    accent: str
    on_accent: str
    info: str
    ok: str
    warn: str
    bad: str
    curves: tuple[str, ...]


TOKENS: Mapping[Scheme, Tokens] = {
    "dark": Tokens(
        window="#0e1116",
        panel="#14181f",
        raised="#1b2029",
        field="#0e1116",
        selected="#232a35",
        line="#272e3a",
        text="#e6e9ef",
        muted="#98a2b3",
        faint="#5f6979",
        accent="#6d8dff",
        on_accent="#0b0f1a",
        info="#5cb3ff",
        ok="#3ecf9a",
        warn="#f2b33d",
        bad="#f87171",
        curves=("#6d8dff", "#3ecf9a", "#f2b33d", "#f472b6", "#a78bfa", "#38bdf8", "#fb923c", "#f87171"),
    ),
    "light": Tokens(
        window="#f3f4f7",
        panel="#ffffff",
        raised="#f6f7f9",
        field="#f3f4f7",
        selected="#eceef3",
        line="#dfe3ea",
        text="#1c2330",
        muted="#596376",
        faint="#949daa",
        accent="#3f63e8",
        on_accent="#ffffff",
        info="#1a6fd0",
        ok="#0f8a63",
        warn="#a86b00",
        bad="#d23434",
        curves=("#3f63e8", "#17a276", "#d9960f", "#d6408f", "#7c5ce0", "#0d8fca", "#d9641c", "#d23434"),
    ),
}

_STATES: Mapping[RunState, str] = {
    RunState.STARTING: "accent",
    RunState.RUNNING: "accent",
    RunState.STOPPING: "warn",
    RunState.PAUSED: "warn",
    RunState.FINISHED: "ok",
    RunState.FAILED: "bad",
    RunState.LOST: "bad",
}

_SHEET = Template("""
QMainWindow, QMainWindow::separator, QDialog { background: $window; }
QMainWindow::separator { width: 4px; height: 4px; }
QMenuBar { background: $panel; color: $muted; padding: 3px 8px; border-bottom: 1px solid $line; }
QMenuBar::item { padding: 4px 10px; border-radius: 5px; background: transparent; }
QMenuBar::item:selected, QMenu::item:selected { background: $selected; color: $text; }
QMenu { background: $panel; border: 1px solid $line; border-radius: 8px; padding: 5px; }
QMenu::item { padding: 6px 28px 6px 12px; border-radius: 5px; color: $text; }
QMenu::item:disabled { color: $faint; }
QMenu::separator { height: 1px; background: $line; margin: 5px 8px; }
QToolTip { background: $raised; color: $text; border: 1px solid $line; padding: 4px 6px; }
QStatusBar { background: $panel; border-top: 1px solid $line; }
QStatusBar::item { border: none; }
QStatusBar QLabel { color: $muted; font-size: 11px; }
QTabWidget::pane { border: none; background: $panel; }
QTabWidget > QTabBar, QTabWidget::tab-bar { left: 0; }
QTabBar { background: $window; qproperty-drawBase: 0; }
QTabBar::tab { background: $window; color: $muted; padding: 8px 18px 7px 14px; border-bottom: 2px solid transparent; }
QTabBar::tab:selected { background: $panel; color: $text; border-bottom: 2px solid $accent; }
QTabBar::tab:hover:!selected { color: $text; }
QTabBar[icons="true"]::tab:!selected { color: transparent; max-width: 18px; padding: 8px 9px 7px 12px; }
QTabBar::tab:focus { color: $accent; }
QWidget[lone="true"] { background: $window; }
QWidget[corner="true"] QPushButton { padding: 3px 10px; }
QDialog[palette="true"] { background: $panel; border: 1px solid $line; border-radius: 10px; }
QLineEdit { background: $field; color: $text; border: 1px solid $line; border-radius: 6px; padding: 5px 8px;
            selection-background-color: $accent; selection-color: $on_accent; }
QLineEdit:focus { border-color: $accent; }
QLineEdit:disabled { color: $muted; background: $panel; border-style: dashed; }
QLineEdit[broken="true"], QComboBox[broken="true"], QPlainTextEdit[broken="true"] { border-color: $bad; }
QComboBox { background: $field; color: $text; border: 1px solid $line; border-radius: 6px; padding: 5px 26px 5px 8px; }
QComboBox:focus, QComboBox:on { border-color: $accent; }
QComboBox::drop-down { border: none; width: 24px; }
QComboBox::down-arrow { image: none; }
QComboBox QAbstractItemView, QListView[popup="true"] { background: $panel; border: 1px solid $line; padding: 4px; }
QPlainTextEdit, QTextBrowser { background: $panel; color: $text; border: none; padding: 6px 10px;
                               selection-background-color: $accent; selection-color: $on_accent; }
QPlainTextEdit[entry="true"] { background: $field; border: 1px solid $line; border-radius: 6px; padding: 2px 4px; }
QPlainTextEdit[entry="true"]:focus { border-color: $accent; }
QWidget[rule="true"] { background: $line; }
QLabel[said="ok"] { color: $ok; font-size: 11px; }
QLabel[said="warn"] { color: $warn; font-size: 11px; }
QLabel[said="bad"] { color: $bad; font-size: 11px; }
QPushButton { background: $raised; color: $text; border: 1px solid $line; border-radius: 6px; padding: 5px 12px; }
QPushButton:hover { background: $selected; }
QPushButton:checked { color: $accent; border-color: $accent; }
QPushButton:focus { border-color: $accent; }
QPushButton[chip="true"] { border-radius: 10px; min-height: 14px; padding: 3px 11px; color: $muted; font-size: 11px; }
QPushButton[chip="true"]:checked { color: $accent; background: $selected; border-color: $selected; }
QPushButton[primary="true"] { background: $accent; color: $on_accent; border-color: $accent; font-weight: 600; }
QPushButton:disabled { color: $faint; }
QPushButton[primary="true"]:disabled { background: $raised; color: $faint; border-color: $line; }
QLabel[chip="true"] { background: $raised; color: $muted; border: 1px solid $line; border-radius: 11px;
                      padding: 3px 10px; font-size: 11px; }
QLabel[chip="true"][tone="ok"] { color: $ok; border-color: $ok; }
QLabel[chip="true"][tone="warn"] { color: $warn; border-color: $warn; }
QLabel[chip="true"][tone="bad"] { color: $bad; border-color: $bad; }
QToolButton[tool="true"] { background: transparent; border: none; border-radius: 6px; padding: 6px; }
QToolButton[tool="true"]:hover, QToolButton[tool="true"]:checked { background: $selected; }
QToolButton[tool="true"]::menu-indicator { image: none; width: 0; }
QLabel[heading="true"] { color: $text; font-weight: 600; }
QLabel[title="true"] { color: $text; font-weight: 600; font-size: 17px; }
QLabel[section="true"] { color: $muted; font-weight: 600; font-size: 11px; letter-spacing: 1px; }
QLabel[muted="true"] { color: $muted; }
QLabel[faint="true"] { color: $faint; font-size: 11px; }
QLabel[code="true"] { background: $field; border: 1px solid $line; border-radius: 6px; padding: 10px 12px;
                      color: $text; }
QLabel[alarm="bad"] { background: $raised; border-left: 3px solid $bad; padding: 9px 12px; color: $text; }
QLabel[alarm="warn"] { background: $raised; border-left: 3px solid $warn; padding: 9px 12px; color: $text; }
QLabel[readout="true"] { background: $raised; border: 1px solid $line; border-radius: 6px; padding: 3px 7px;
                         color: $text; font-size: 11px; }
QFrame[tools="true"] { background: $panel; border: none; }
QFrame[tools="true"] QToolButton { padding: 3px 4px; color: $muted; font-size: 11px; }
QFrame[tools="true"] QToolButton:checked { color: $accent; }
QPlainTextEdit[code="true"] { background: $field; border: 1px solid $line; border-radius: 6px; padding: 8px;
                              color: $text; }
QRadioButton { color: $text; spacing: 8px; padding: 2px 4px; border: 1px solid transparent; border-radius: 6px; }
QRadioButton:disabled { color: $faint; }
QRadioButton:focus { border-color: $accent; }
QRadioButton::indicator { width: 12px; height: 12px; border: 1px solid $faint; border-radius: 7px; background: $field; }
QRadioButton::indicator:checked { width: 6px; height: 6px; border: 4px solid $accent; background: $on_accent; }
QFrame[seat="true"] { background: $raised; border: 1px solid $line; border-left: 3px solid $line; border-radius: 6px; }
QFrame[seat="true"][turn="true"] { border-left: 3px solid $accent; }
QFrame[card="true"] { background: $panel; border: 1px solid $line; border-radius: 8px; }
QFrame[card="true"]:focus { border-color: $accent; }
QWidget[panel="true"], QStackedWidget, QListView, QTreeView, QScrollArea { background: $panel; border: none; }
QTableView { background: $panel; border: none; border-top: 1px solid $line; outline: none; color: $text; }
QListWidget::indicator { width: 12px; height: 12px; border: 1px solid $faint; border-radius: 3px; }
QListWidget::indicator:checked { background: $accent; border-color: $accent; }
QListWidget::item { padding: 3px 2px; }
QListWidget::item:selected { background: $selected; color: $text; }
QTableView QHeaderView::section { padding: 6px 10px; }
QListView, QTreeView { outline: none; selection-background-color: $selected; selection-color: $text; }
QTreeView { alternate-background-color: $raised; color: $text; }
QTreeView::item { padding: 4px 4px; border: none; }
QTreeView::item:selected { background: $selected; color: $text; }
QHeaderView::section { background: $panel; color: $muted; border: none; border-bottom: 1px solid $line; padding: 5px; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: $line; border-radius: 3px; margin: 2px; min-height: 28px; min-width: 28px; }
QScrollBar::handle:hover { background: $faint; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QSplitter::handle { background: $line; }
QSplitter::handle:horizontal { width: 1px; }
QSlider::groove:horizontal { background: $line; height: 4px; border-radius: 2px; }
QSlider::sub-page:horizontal { background: $accent; border-radius: 2px; }
QSlider::handle:horizontal { background: $text; width: 12px; height: 12px; margin: -4px 0; border-radius: 6px; }
""")


class Theme(QObject):
    """Dark or light, now; `changed` tells widgets that paint by themselves."""

    changed = Signal()

    def __init__(self, application: QApplication, scheme: Scheme = "dark") -> None:
        super().__init__()
        self._application = application
        self.scheme: Scheme = scheme
        application.setStyle("Fusion")
        self._apply()

    @property
    def tokens(self) -> Tokens:
        return TOKENS[self.scheme]

    def use(self, scheme: Scheme) -> None:
        if scheme != self.scheme:
            self.scheme = scheme
            self._apply()
            self.changed.emit()

    def toggle(self) -> None:
        self.use("light" if self.scheme == "dark" else "dark")

    def colour(self, token: str) -> QColor:
        return QColor(str(getattr(self.tokens, token)))

    def state(self, state: RunState) -> QColor:
        return self.colour(_STATES.get(state, "faint"))

    def curve(self, place: int) -> QColor:
        return QColor(self.tokens.curves[place % len(self.tokens.curves)])

    @contextmanager
    def set_aside(self) -> Generator[None]:
        """Without the style sheet while a window is built: Qt styles each widget again whenever it gets a parent."""
        self._application.setStyleSheet("")
        yield
        self._application.setStyleSheet(self._sheet)

    @property
    def _sheet(self) -> str:
        return _SHEET.substitute(vars(self.tokens))

    def _apply(self) -> None:
        self._application.setPalette(_palette(self.tokens))
        self._application.setStyleSheet(self._sheet)


def _palette(tokens: Tokens) -> QPalette:
    palette, role = QPalette(), QPalette.ColorRole
    for roles, colour in (
        ((role.Window, role.Base, role.Button), tokens.panel),
        ((role.AlternateBase, role.ToolTipBase), tokens.raised),
        ((role.WindowText, role.Text, role.ButtonText, role.ToolTipText, role.BrightText), tokens.text),
        ((role.Highlight, role.Link), tokens.accent),
        ((role.HighlightedText,), tokens.on_accent),
        ((role.PlaceholderText,), tokens.faint),
        ((role.Mid, role.Dark, role.Shadow), tokens.line),
        ((role.Light, role.Midlight), tokens.raised),
    ):
        for each in roles:
            palette.setColor(each, QColor(colour))
    for each in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, each, QColor(tokens.faint))
    return palette
