"""Where a language model is asked: its address, and the environment variable with the key; shown where one plays."""

from PySide6.QtWidgets import QLineEdit, QWidget

from mosaic.gui.models.play.play_model import Play
from mosaic.gui.widgets.labels_and_buttons import label, row
from mosaic.spec.processes.language_model import KEY

VARIABLE_WIDTH = 190


class LlmEndpointRow(QWidget):
    def __init__(self, play: Play) -> None:
        super().__init__()
        self._play = play
        self.address, self.variable = QLineEdit(), QLineEdit()
        self.address.setAccessibleName("Address of the language model")
        self.address.setToolTip("Address of any endpoint with OpenAI's chat completions; used from the next Start on")
        self.variable.setAccessibleName("Environment variable with the key")
        self.variable.setToolTip(
            "Name of the environment variable that holds the key, where the studio was started. The key is never stored"
        )
        self.variable.setPlaceholderText(KEY)
        self.variable.setFixedWidth(VARIABLE_WIDTH)
        self.key = label("", "faint")
        self.address.editingFinished.connect(lambda: play.endpoint.choose_address(self.address.text().strip()))
        self.variable.editingFinished.connect(lambda: play.endpoint.choose_variable(self.variable.text().strip()))
        where = (label("LANGUAGE MODEL", "section"), (self.address, 1))
        row(*where, label("key in", "muted"), self.variable, self.key, of=self)
        for signal in (play.endpoint.changed, play.offered, play.seated):
            signal.connect(self.show_endpoint)
        self.show_endpoint()

    def show_endpoint(self) -> None:
        endpoint = self._play.endpoint
        self.address.setPlaceholderText(endpoint.usual_address)
        for field, text in ((self.address, endpoint.address), (self.variable, endpoint.variable)):
            if not field.hasFocus():
                field.setText(text)
        self.key.setText("key found" if endpoint.has_key else "no key")
        self.key.setToolTip("" if endpoint.has_key else "An endpoint on your own machine needs no key")
        self.setVisible(self._play.has_language_model)
