"""Where a language model that plays is asked, and which variable of the studio's own environment holds its key.

The address and the variable's name are remembered; the key itself is read when a session starts, and kept nowhere.
"""

import os
from collections.abc import Iterable

from PySide6.QtCore import QObject, QSettings, Signal

from mosaic.spec.processes.language_model import BASE_URL, KEY, address_problem, secrets_of, told_here

EXAMPLE = "http://127.0.0.1:11434/v1"


class LlmEndpoint(QObject):
    changed = Signal()

    def __init__(self, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self.address = str(settings.value("play/llm/address") or "")
        """Empty is what the environment says."""
        self.variable = str(settings.value("play/llm/key_variable") or "")
        """Empty is the usual one."""

    @property
    def problem(self) -> str:
        """Why no model can be asked like this; empty as far as is known."""
        return _address_problem(self.address) or _variable_problem(self.variable)

    @property
    def usual_address(self) -> str:
        return os.environ.get(BASE_URL) or EXAMPLE

    @property
    def has_key(self) -> bool:
        return bool(os.environ.get(self.variable or KEY))

    def choose_address(self, address: str) -> None:
        self.address = address
        self._keep("address", address, _address_problem(address))

    def choose_variable(self, name: str) -> None:
        self.variable = name
        self._keep("key_variable", name, _variable_problem(name))

    def told(self, actors: Iterable[str]) -> dict[str, str]:
        """Settings of the actor, if a model plays."""
        return told_here(actors, base_url=self.address)

    def secrets(self, actors: Iterable[str]) -> dict[str, str]:
        return secrets_of(actors, variable=self.variable or KEY)

    def _keep(self, what: str, text: str, problem: str) -> None:
        # What is refused is not written either: it may be a key that was pasted into the wrong place.
        if not problem:
            self._settings.setValue(f"play/llm/{what}", text)
        self.changed.emit()


def _address_problem(address: str) -> str:
    return address_problem(address) if address else ""


def _variable_problem(name: str) -> str:
    if not name or name in os.environ:
        return ""
    # Not repeated: it may be a key.
    return "the studio's environment has no variable of that name; start it with one that holds the key"
