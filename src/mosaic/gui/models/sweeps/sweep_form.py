"""The form of a sweep: what of the train form's settings is searched, the budget, and the plan that these make."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Signal

from mosaic import config
from mosaic.errors import ConfigError, MosaicError, Problem
from mosaic.gui.models.form.run_settings import PARAMS, SEED
from mosaic.gui.models.form.train_form import TrainForm
from mosaic.gui.models.studio import Studio
from mosaic.numbers import parse_float
from mosaic.rpc import trainer_pb2 as pb
from mosaic.scripts.script import is_script
from mosaic.spec.presets.preset_use import UI as KEY
from mosaic.spec.seed_list import parse_seeds
from mosaic.sweep import space, space_words, sweep_plan
from mosaic.sweep.sweep_plan import BEST, CONFIRM_SEEDS, PRUNE, RETURN, TRIALS

WHAT = "sweep"
FIELD_OF = {
    "--space": "Searched settings",
    "--seeds": "Seeds",
    "--confirm-seeds": "Fresh seeds",
    "--trials": "Trials",
    "--steps": "Steps in all",
    "trials": "Trials",
    "steps": "Steps in all",
    "hours": "Hours",
    "parallel": "Runs at a time",
    "confirm_best": "Confirm the best",
    "metric": "Judged by",
}
"""Where the dialog has what a plan's problem is about."""


@dataclass
class Searched:
    """A setting, and the values that are tried; changed by the dialog."""

    name: str
    text: str
    is_on: bool


@dataclass
class Budget:
    """What is spent, as the user types it."""

    trials: str = str(TRIALS)
    steps: str = ""
    hours: str = ""
    parallel: str = ""
    method: str = "tpe"
    prune: str = PRUNE
    confirm: str = str(BEST)
    confirm_seeds: str = f"{CONFIRM_SEEDS[0]}-{CONFIRM_SEEDS[-1]}"
    metric: str = RETURN
    goal: str = "maximize"
    label: str = ""


class SweepForm(QObject):
    """Made anew for each opening, from what the train form says then."""

    submitted = Signal(str)
    """The id of a new sweep."""
    said = Signal(str, str)
    busy_changed = Signal()

    def __init__(self, studio: Studio, form: TrainForm) -> None:
        super().__init__()
        self._studio, self._form = studio, form
        self.searched: list[Searched] = []
        self.budget = Budget()
        self.is_starting = False

    @property
    def title(self) -> str:
        return f"{self._form.algo} · {self._form.env_id}"

    def begin(self) -> str:
        """Take over the algorithm's own space; why there can be no sweep, or nothing."""
        algorithm = self._form.algorithm
        if algorithm is None:
            return "The algorithms are not known yet: the daemon has not answered."
        if is_script(self._form.algo):
            return "A script is swept from the command line: mosaic sweep sweep.yaml."
        own = space.default_space(algorithm.schema)
        self.searched = [Searched(one.name, one.text, not self._is_given(one.name)) for one in own]
        return ""

    def _is_given(self, name: str) -> bool:
        """Whether the user gave a setting another value in the form: that one stays as it is."""
        field = self._form.fields.get(f"{PARAMS}.{name}")
        return field is not None and field.value != field.setting.default

    def add(self, word: str) -> str:
        """A further line `name=values`; what is wrong with it, or nothing."""
        try:
            [one] = self._parsed([word])
        except ConfigError as error:
            return error.problems[0].message
        except ValueError:
            return "write one setting, as in num_envs=4,8,16"
        self.searched = [found for found in self.searched if found.name != one.name]
        self.searched.append(Searched(one.name, one.text, True))
        return ""

    def problem_of(self, searched: Searched) -> str:
        """Of one line."""
        try:
            self._parsed([f"{searched.name}={searched.text}"])
        except ConfigError as error:
            return error.problems[0].message
        return ""

    def plan(self) -> dict[str, Any]:
        """ConfigError with everything that is wrong, by the names of the dialog's fields."""
        try:
            return self._plan()
        except ConfigError as error:
            problems = [Problem(FIELD_OF.get(one.path, one.path), one.message) for one in error.problems]
            raise ConfigError(problems, what=WHAT) from None

    def _plan(self) -> dict[str, Any]:
        document: dict[str, Any] = self._form.document()
        # Which preset it was begun from stays with every run of the sweep.
        document["metadata"]["ui"] = {key: one for key, one in document["metadata"]["ui"].items() if key == KEY}
        words = [f"{one.name}={one.text}" for one in self.searched if one.is_on]
        if not words:
            raise ConfigError([Problem("", "Choose one setting at least to be searched.")], what=WHAT)
        dimensions = self._parsed(words)
        budget = self.budget
        made: dict[str, Any] = {
            "label": budget.label,
            "document": document,
            "space": [config.to_json(one) for one in dimensions],
            "defaults": space.defaults(document, dimensions, self._form.environment_schema),
            "method": budget.method,
            "prune": budget.prune,
            "metric": budget.metric,
            "goal": budget.goal,
            "seeds": self._form.seeds or [document["metadata"]["worker"]["config"].get("seed", 1)],
            "own_seeds": 0 if self._form.seeds or self._has_seed else 1,
            "confirm_best": _whole("Confirm", budget.confirm or "0"),
            "confirm_seeds": _seeds(budget.confirm_seeds) if budget.confirm not in ("", "0") else [],
            "trials": _whole("Trials", budget.trials) if budget.trials else None,
            "steps": _whole("Steps in all", budget.steps) if budget.steps else None,
            "hours": _number("Hours", budget.hours) if budget.hours else None,
            "parallel": _whole("Runs at a time", budget.parallel or "0"),
            "priority": self._form.priority,
        }
        if made["trials"] is None and made["steps"] is None and made["hours"] is None:
            raise ConfigError([Problem("", "Say how many trials, steps or hours.")], what=WHAT)
        return config.to_json(sweep_plan.parse(made, what=WHAT))

    @property
    def _has_seed(self) -> bool:
        """Whether the user has chosen one in the form; otherwise each trial has its own."""
        field = self._form.fields.get(SEED)
        return field is not None and field.value != field.setting.default

    def start(self) -> None:
        """Submit it; `said` tells what is wrong."""
        if self.is_starting:
            return
        try:
            plan = self.plan()
        except ConfigError as error:
            self.said.emit("\n".join(map(str, error.problems)), "bad")
            return
        self._set_busy(True)
        self._studio.link.call(
            lambda client: client.submit_sweep(plan), self._submitted, self._failed, brings_back=True
        )

    def _submitted(self, sweep: pb.Sweep) -> None:
        self._set_busy(False)
        self.said.emit("", "ok")
        self.submitted.emit(sweep.sweep_id)

    def _failed(self, error: MosaicError) -> None:
        self._set_busy(False)
        self.said.emit(str(error), "bad")

    def _set_busy(self, is_starting: bool) -> None:
        self.is_starting = is_starting
        self.busy_changed.emit()

    def _parsed(self, words: Sequence[str]) -> tuple[space.Dimension, ...]:
        algorithm = self._form.algorithm
        schema: space.Schema = algorithm.schema if algorithm is not None else {"properties": {}}
        about = self._form.environment_schema
        return space_words.parse(words, schema, about, what=WHAT, env_id=self._form.env_id)


def _whole(title: str, text: str) -> int:
    number = _number(title, text)
    if number % 1:
        raise ConfigError([Problem(title, "must be a whole number")], what=WHAT)
    return int(number)


def _number(title: str, text: str) -> float:
    try:
        return parse_float(text)
    except ValueError as error:
        raise ConfigError([Problem(title, f"{error} (got {text!r})")], what=WHAT) from None


def _seeds(text: str) -> list[int]:
    try:
        return parse_seeds(text)
    except ValueError as error:
        raise ConfigError([Problem("Fresh seeds", str(error))], what=WHAT) from None
