"""Names and values in two columns; a value that is too long is wrapped, never the reason for a wider page."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from mosaic.gui.widgets.labels_and_buttons import label

NARROWEST = 60


class NameValueList(QWidget):
    """A line each; one without a value is not shown."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(7)
        grid.setColumnStretch(1, 1)
        grid.setColumnMinimumWidth(0, 76)
        self._lines: dict[str, tuple[QLabel, QLabel]] = {}
        for line, name in enumerate(names):
            head, value = label(name, "faint"), label("", "muted", selectable=True, wraps=True)
            value.setMinimumWidth(NARROWEST)
            value.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
            grid.addWidget(head, line, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(value, line, 1, Qt.AlignmentFlag.AlignTop)
            self._lines[name] = head, value

    def say(self, values: Mapping[str, str]) -> None:
        for name, (head, value) in self._lines.items():
            text = values.get(name, "")
            if text != value.text():
                value.setText(text)
            head.setVisible(bool(text))
            value.setVisible(bool(text))

    def text(self, name: str) -> str:
        return self._lines[name][1].text()
