"""The train form without its widgets: fields by path, the document that they make, and where its problems belong."""

from collections.abc import Iterable, Mapping
from typing import Any

from PySide6.QtCore import QObject, Signal

from mosaic import config
from mosaic.config import JsonObject, JsonValue
from mosaic.errors import ConfigError, Problem, UnknownAlgorithm
from mosaic.gui.models.form import config_problems, environment_fields
from mosaic.gui.models.form.algorithm_list import title_of
from mosaic.gui.models.form.catalogue_model import CatalogueModel
from mosaic.gui.models.form.form_field import Field
from mosaic.gui.models.form.form_sections import Section, governors_of, sections_of
from mosaic.gui.models.form.json_paths import leaves, look_up, put
from mosaic.gui.models.form.run_settings import (
    ALGO,
    DERIVED,
    ENV_ID,
    EXTRAS,
    FIXED,
    NOT_FOR_SCRIPTS,
    PRESET,
    PRIORITY,
    SEED,
    SEEDS,
    UI,
    run_settings,
)
from mosaic.gui.models.form.schema_fields import ENVIRONMENT_SETTINGS
from mosaic.rpc.client import Algorithm
from mosaic.scripts.script import is_script
from mosaic.spec import run_config
from mosaic.spec.catalogue import known_environments
from mosaic.spec.seed_list import parse_seeds

FIRST_ALGO = "ppo"
"""Where a form begins, if there is such an algorithm: the usual first choice."""


class TrainForm(QObject):
    """Fields by path, made anew for each algorithm; what the user set goes along wherever there is such a setting."""

    rebuilt = Signal()
    """Other fields: another algorithm, or another catalogue."""
    settings_rebuilt = Signal()
    """Other fields for the settings of the environment: another environment. All others stay."""
    field_changed = Signal(str)
    """Text, problem or hint of the field at this path."""
    problems_changed = Signal()
    """Those that belong to no field."""
    edited = Signal()
    """Something that makes another document."""

    def __init__(self, catalogue: CatalogueModel) -> None:
        super().__init__()
        self.algo = ""
        self.fields: dict[str, Field] = {}
        self.sections: list[Section] = []
        self.problems: list[str] = []
        self._catalogue = catalogue
        self._preset: JsonValue = None
        """What the form was filled with, as `metadata.ui` of a run keeps it, until another algorithm or environment."""
        self._set_texts: dict[str, str] = {}
        """What the user set, by path, also where the algorithm that is chosen now has no such setting."""
        self._typed_settings: dict[str, JsonObject] = {}
        """Settings that were given to each environment."""
        self._settings_env_id = ""
        """The environment whose settings the fields are."""
        catalogue.changed.connect(self._renew)

    @property
    def algorithm(self) -> Algorithm | None:
        return self._catalogue.algorithms.get(self.algo)

    @property
    def environment_schema(self) -> Mapping[str, Any] | None:
        """Of the settings of the environment that is chosen; None if only a worker can tell."""
        return self._catalogue.settings_of(self.env_id)

    @property
    def seeds(self) -> list[int]:
        return parse_seeds(self.fields[SEEDS].text)

    @property
    def priority(self) -> int:
        value = self.fields[PRIORITY].value
        return value if isinstance(value, int) else 0

    @property
    def env_id(self) -> str:
        return str(self.fields[ENV_ID].value or "")

    @property
    def preset(self) -> str:
        """The name of the preset that the form was filled with; empty if it was filled otherwise."""
        return str(self._preset.get("name", "")) if isinstance(self._preset, dict) else ""

    def use(self, algo: str) -> None:
        """The form of this algorithm, with all that the user set wherever it has such a setting that may be so."""
        if algo not in self._catalogue.algorithms:
            known = sorted(self._catalogue.algorithms)
            raise UnknownAlgorithm(algo, hint=f"there are {', '.join(known)}")
        is_other = algo != self.algo
        self._keep_env_settings()
        if is_other:
            self._preset = None
        self.algo = algo
        self._make_fields()
        for path, text in self._set_texts.items():
            if path in self.fields and not is_of_environment(path):
                self._take_over(self.fields[path], text, whatever=not is_other)
        self._make_env_fields(self._typed_settings.get(self.env_id, {}))
        self._look_at_env()
        self._look_at_seeds()
        self._say([])
        self.rebuilt.emit()
        self.edited.emit()

    def type(self, path: str, text: str) -> None:
        field = self.fields[path]
        if text == field.text:
            return
        field.type(text)
        self._remember(field)
        if path == ENV_ID:
            self._preset = None
            self._renew_env_fields()
        if path == ENV_ID or is_of_environment(path):
            self._look_at_env()
            self.field_changed.emit(ENV_ID)
        if path == SEEDS:
            self._look_at_seeds()
            self.field_changed.emit(SEED)
        self._say([])
        self.field_changed.emit(path)
        self.edited.emit()

    def reset(self, path: str) -> None:
        setting = self.fields[path].setting
        self.type(path, setting.show(setting.default))

    def reset_all(self) -> None:
        """Every default of this algorithm."""
        self._make_fields()
        self._preset = None
        for path in self.fields:
            self._set_texts.pop(path, None)
        self._make_env_fields({})
        self._say([])
        self.rebuilt.emit()
        self.edited.emit()

    def governs(self, path: str) -> bool:
        """Whether another field may come or go with this one."""
        return any(path in governors_of(other) for other in self.fields)

    def is_shown(self, path: str) -> bool:
        """False for a field that means nothing while its switch is off."""
        return all(self.fields[switch].value is True for switch in governors_of(path) if switch in self.fields)

    def document(self, *, with_secrets: bool = False) -> JsonObject:
        """The run config; ConfigError with all that is wrong with it, whatever the daemon said before."""
        broken = [
            Problem(path, field.broken_rule)
            for path, field in self.fields.items()
            if field.broken_rule and self.is_shown(path)
        ]
        if broken:
            raise ConfigError(broken, what="the form")
        document: JsonObject = {}
        secrets: dict[str, JsonValue] = {}
        for path, field in self.fields.items():
            if field.setting.kind == "secret":
                secrets[path] = field.value
            elif not path.startswith(UI) and not is_of_environment(path):
                # What is hidden and broken has no say.
                put(document, path, field.setting.default if field.broken_rule else field.value)
        put(document, ALGO, self.algo)
        for path, source in DERIVED.items():
            put(document, path, self.fields[source].value)
        put(document, ENVIRONMENT_SETTINGS, environment_fields.values_of(self.fields))
        if self._preset is not None:
            put(document, PRESET, self._preset)
        complete = config.to_json(run_config.parse(document))
        for path, value in secrets.items():
            if with_secrets and value and self.is_shown(path):
                put(complete, path, value)
        return complete

    def stored(self) -> JsonObject:
        """The document as files keep it: with seeds and priority, never with a secret."""
        document = self.document()
        for path in (SEEDS, PRIORITY):
            if self.fields[path].is_changed:
                put(document, path, self.fields[path].value)
        return document

    def fill(self, document: JsonObject) -> list[str]:
        """Take a document over, and its algorithm; the paths for which there is no field are handed back."""
        mode = look_up(document, f"{EXTRAS}.mode", "train")
        if mode != "train":
            raise ConfigError([Problem(f"{EXTRAS}.mode", f"'{mode}' is not a training run")], what="run config")
        algo = look_up(document, ALGO, "")
        if algo not in self._catalogue.algorithms:
            raise UnknownAlgorithm(str(algo), hint=f"there are {', '.join(sorted(self._catalogue.algorithms))}")
        self.algo = str(algo)
        self._preset = look_up(document, PRESET, None)
        self._make_fields()
        for path, field in self.fields.items():
            value = look_up(document, path, field.setting.default)
            if field.setting.kind != "secret":
                field.type(field.setting.show(value))
        # A document says all there is to say: nothing that was set before it is left.
        self._set_texts = {path: field.text for path, field in self.fields.items() if field.is_changed}
        settings = look_up(document, ENVIRONMENT_SETTINGS, {})
        left = self._make_env_fields(settings if isinstance(settings, dict) else {})
        missing = [f"{ENVIRONMENT_SETTINGS}.{name}" for name in left]
        known = {*self.fields, *DERIVED, *FIXED, *(f"{EXTRAS}.{name}" for name in NOT_FOR_SCRIPTS)}
        self._look_at_env()
        self._look_at_seeds()
        self._say([])
        self.rebuilt.emit()
        self.edited.emit()
        others = [path for path in leaves(document) if path not in known and not _is_elsewhere(path)]
        return [*others, *missing]

    def refuse(self, problems: Iterable[Problem]) -> None:
        """Show what the daemon or the rules of the run config said, each at its field, the rest at the top."""
        general: list[str] = []
        for problem in problems:
            path = config_problems.field_of(problem, self.fields, derived=DERIVED, words={self.env_id: ENV_ID})
            if path is None:
                general.append(str(problem))
                continue
            field = self.fields[path]
            field.refusal = "\n".join(filter(None, [field.refusal, problem.message]))
            self.field_changed.emit(path)
        self._say(general)

    def forget_refusals(self) -> None:
        """Before the daemon is asked again."""
        for path, field in self.fields.items():
            if field.refusal:
                field.refusal = ""
                self.field_changed.emit(path)
        self._say([])

    def _remember(self, field: Field) -> None:
        """For the next algorithm; a default is nothing that was set."""
        path = field.setting.path
        if field.is_changed and not is_of_environment(path):
            self._set_texts[path] = field.text
        else:
            self._set_texts.pop(path, None)

    def _take_over(self, field: Field, text: str, *, whatever: bool) -> None:
        """What was set for another algorithm, unless it cannot be so here; `whatever` takes it as it is."""
        if field.setting.path == ENV_ID and not (whatever or self._catalogue.fits(text, self.algo)):
            return
        field.type(text)
        if field.broken_rule and not whatever:
            field.type(field.setting.show(field.setting.default))

    def _say(self, general: list[str]) -> None:
        if general != self.problems:
            self.problems = general
            self.problems_changed.emit()

    def _renew(self) -> None:
        """Another daemon may serve other algorithms; what was typed is kept where there is still a field for it."""
        algorithms = self._catalogue.algorithms
        if algorithms:
            first = FIRST_ALGO if FIRST_ALGO in algorithms else next(iter(algorithms))
            self.use(self.algo if self.algo in algorithms else first)

    def _make_fields(self) -> None:
        assert self.algorithm is not None
        settings = list(run_settings(self.algorithm, self._catalogue.run_schema))
        self.fields = {
            setting.path: Field(setting, parse_seeds) if setting.path == SEEDS else Field(setting)
            for setting in settings
        }
        self.sections = sections_of(settings, title_of(self.algorithm))

    def _make_env_fields(self, values: JsonObject) -> list[str]:
        """Fields for the settings of the environment that is chosen, with these values; the names that it has not."""
        fields = {} if is_script(self.algo) else environment_fields.fields_of(self._catalogue.settings_of(self.env_id))
        left = environment_fields.type_values(fields, values) if fields else list(values)
        self.fields = {path: field for path, field in self.fields.items() if not is_of_environment(path)} | fields
        self._settings_env_id = self.env_id
        assert self.algorithm is not None
        self.sections = sections_of([field.setting for field in self.fields.values()], title_of(self.algorithm))
        return left

    def _keep_env_settings(self) -> None:
        if self._settings_env_id:
            self._typed_settings[self._settings_env_id] = environment_fields.values_of(self.fields)

    def _renew_env_fields(self) -> None:
        """Another environment has other settings; those that were given to it before come back with it."""
        self._keep_env_settings()
        self._make_env_fields(self._typed_settings.get(self.env_id, {}))
        self.settings_rebuilt.emit()

    def _look_at_seeds(self) -> None:
        self.fields[SEED].hint = "Not used: the group has its own seeds." if self.fields[SEEDS].value else ""

    def _look_at_env(self) -> None:
        """What the catalogue knows of the environment, as a hint: only a worker can tell for certain."""
        field, algorithm = self.fields[ENV_ID], self.algorithm
        if algorithm is None or not self.env_id:
            return
        actions = self._catalogue.actions_of(self.env_id)
        if actions is None and (ours := known_environments.instead_of_minatar(self.env_id)):
            field.hint = f"Not in the list of environments: {ours}."
        elif actions is None:
            near = self._catalogue.near(self.env_id, self.algo)
            meant = f"Did you mean {' or '.join(near)}? " if near else ""
            field.hint = f"Not in the list of environments. {meant}A worker tries it before the run begins."
        else:
            field.hint = self._catalogue.misfit(self.env_id, self.algo, environment_fields.values_of(self.fields))


def _is_elsewhere(path: str) -> bool:
    """What a document says without a field of the form."""
    return is_of_environment(path) or path.startswith(f"{PRESET}.")


def is_of_environment(path: str) -> bool:
    return path == ENVIRONMENT_SETTINGS or path.startswith(f"{ENVIRONMENT_SETTINGS}.")
