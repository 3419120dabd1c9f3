"""The buttons of the card under the mouse: one set for all cards, which comes to where the mouse is."""

from collections.abc import Callable

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QFrame, QMenu, QToolButton, QWidget

from mosaic.gui.theme import Theme
from mosaic.gui.widgets.charts.chart_card import ChartCard
from mosaic.gui.widgets.labels_and_buttons import row
from mosaic.gui.widgets.tool_button import IconTool

FORMATS = {"png": "PNG picture", "svg": "SVG picture", "csv": "CSV with every point"}


class CardTools(QFrame):
    """Logarithmic or not, see all, save, large."""

    def __init__(
        self,
        theme: Theme,
        home: QWidget,
        *,
        log: Callable[[ChartCard], object],
        save: Callable[[ChartCard, str], object],
        full: Callable[[ChartCard], object],
        more: Callable[[ChartCard, QPoint], object],
    ) -> None:
        super().__init__(home)
        self.card: ChartCard | None = None
        self._home = home
        self.setProperty("tools", True)
        self.log = QToolButton()
        self.log.setText("log")
        self.log.setProperty("tool", True)
        self.log.setCheckable(True)
        self.log.setToolTip("Logarithmic y axis")
        self.log.clicked.connect(lambda _=False: self.card and log(self.card))
        self.reset = IconTool(theme, "zoom-out", "Fit to all points (double click)", self._see_all)
        self.save = IconTool(theme, "download", "Save this chart")
        self.save.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = menu = QMenu(self)
        self._formats = {kind: menu.addAction(text) for kind, text in FORMATS.items()}
        for kind, action in self._formats.items():
            action.triggered.connect(lambda _=False, kind=kind: self.card and save(self.card, kind))
        self.save.setMenu(menu)
        self.full = IconTool(theme, "maximize-2", "Enlarge", lambda: self.card and full(self.card))
        self.more = IconTool(theme, "sliders-horizontal", "Move, resize, remove", lambda: self.card and self._ask(more))
        self.setLayout(row(self.log, self.reset, self.save, self.more, self.full, spacing=0, margins=(2, 2, 2, 2)))
        self.hide()

    def come_to(self, card: ChartCard) -> None:
        self.card = card
        # A child of the card: to move onto a button is then not to leave the card.
        self.setParent(card)
        self.refresh()
        self.show()
        self.raise_()

    def leave(self, card: ChartCard) -> None:
        # The open menu takes the mouse from the card, and is about it all the same.
        if card is self.card and not self._menu.isVisible():
            self.card = None
            self.setParent(self._home)
            self.hide()

    def refresh(self) -> None:
        """The card has changed its size or its state."""
        if self.card is None:
            return
        self.log.setChecked(self.card.log)
        self.log.setVisible(self.card.spec.kind in ("curve", "pair"))
        for kind, action in self._formats.items():
            action.setVisible(
                kind == "png" or (self.card.chart is not None and (kind, self.card.spec.kind) != ("csv", "pair"))
            )
        self.reset.setVisible(self.card.is_zoomed)
        self.full.show_icon("minimize-2" if self.card.is_full else "maximize-2")
        self.full.rename("All charts (Esc)" if self.card.is_full else "Enlarge")
        self.adjustSize()
        self.move(self.card.width() - self.width() - 5, 3)

    def _ask(self, more: Callable[[ChartCard, QPoint], object]) -> None:
        if self.card is not None:
            more(self.card, self.more.mapToGlobal(QPoint(0, self.more.height())))

    def _see_all(self) -> None:
        if self.card is not None and self.card.chart is not None:
            self.card.chart.show_all()
