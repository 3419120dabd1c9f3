"""Documents in and out of the form: presets, JSON files, the command line."""

import shlex
from collections.abc import Callable
from pathlib import Path

from mosaic import config
from mosaic.config import JsonObject, JsonValue
from mosaic.errors import ConfigError, MosaicError
from mosaic.gui.models.form import environment_fields
from mosaic.gui.models.form.form_presets import document_with
from mosaic.gui.models.form.json_paths import look_up
from mosaic.gui.models.form.last_run import read_document, write_document
from mosaic.gui.models.form.run_settings import EXTRAS, LABEL, PARAMS, PRIORITY, SEEDS, TAGS, WORKER
from mosaic.gui.models.form.train_actions import TrainActions
from mosaic.gui.models.form.train_form import TrainForm
from mosaic.scripts.script import is_script
from mosaic.scripts.script_flags import words_for
from mosaic.spec import environment_settings
from mosaic.spec.presets.preset_files import Listed
from mosaic.spec.run_config import TrainOptions


class FormDocuments:
    """What goes wrong is said by `TrainActions`; nothing is raised."""

    def __init__(self, train_actions: TrainActions) -> None:
        self._train_actions = train_actions
        self._presets = train_actions.presets

    def presets(self) -> tuple[list[Listed], list[Listed]]:
        """Those for what the form trains, and all others."""
        try:
            fitting, others, problems = self._presets.listed()
        except MosaicError as error:
            fitting, others, problems = [], [], [str(error)]
        if problems:
            self._train_actions.said.emit("; ".join(problems), "bad")
        return fitting, others

    def save(self, name: str) -> None:
        self._attempt(lambda: self._presets.save(name), f"Saved as preset “{name.strip()}”.")

    def load(self, one: Listed) -> None:
        self._fill(lambda: document_with(one), f"Preset “{one.preset.name}”")

    def delete(self, one: Listed) -> None:
        self._attempt(lambda: self._presets.delete(one), f"Preset “{one.preset.name}” is gone.")

    def import_file(self, path: str) -> None:
        self._fill(lambda: read_document(Path(path)), Path(path).name)

    def export_file(self, path: str) -> None:
        self._attempt(lambda: write_document(Path(path), self._train_actions.form.stored()), f"Saved as {path}.")

    def allow_scripts(self, folder: str) -> None:
        self._train_actions.allow_scripts(folder)

    def reset(self) -> None:
        """Every field as the algorithm has it."""
        self._train_actions.form.reset_all()

    def command_line(self) -> str:
        """Empty if something in the form is wrong."""
        try:
            return command_line(self._train_actions.form)
        except ConfigError as error:
            self._complain(error)
            return ""

    def _fill(self, read: Callable[[], JsonObject], origin: str) -> None:
        try:
            document = read()
        except MosaicError as error:
            self._train_actions.said.emit(str(error), "bad")
        else:
            self._train_actions.fill(document, origin)

    def _attempt(self, does: Callable[[], object], said: str) -> None:
        try:
            does()
        except ConfigError as error:
            self._complain(error)
        except MosaicError as error:
            self._train_actions.said.emit(str(error), "bad")
        else:
            self._train_actions.said.emit(said, "ok")

    def _complain(self, error: ConfigError) -> None:
        settings = ", ".join(problem.path.rpartition(".")[2] for problem in error.problems)
        self._train_actions.said.emit(f"Correct these settings first: {settings}.", "bad")


RUN_FLAGS = {
    LABEL: "label",
    TAGS: "tag",
    SEEDS: "seeds",
    PRIORITY: "priority",
    "resources.cpus": "cpus",
    "resources.gpus": "gpus",
    "resources.engine": "engine",
    "artifacts.tensorboard.enabled": "tensorboard",
}
"""Flags of `mosaic train` for what stands outside of the worker's config, by path of the field."""


def command_line(form: TrainForm) -> str:
    """To be pasted into a shell. Secrets have no flag; ConfigError if something in the form is wrong."""
    assert form.algorithm is not None
    document = form.document()
    settings = config.class_from_schema(form.algorithm.schema, name=form.algo)
    params = _object(document, PARAMS)
    outside = {name: value for name, value in _object(document, WORKER).items() if name in _names(form)}
    options = {key: value for key, value in _object(document, EXTRAS).items() if key not in ("mode", "algo_params")}
    words = [
        *config.to_flags(config.from_json(TrainOptions, options), changed_only=True),
        *(_flag(name, form.fields[path].value) for path, name in RUN_FLAGS.items() if form.fields[path].is_changed),
    ]
    if is_script(form.algo):
        return _of_script(form, {**params, **outside}, words)
    own = config.to_flags(config.from_json(settings, {**params, **outside}), changed_only=True)
    given = environment_fields.values_of(form.fields)
    of_environment = environment_settings.flags_of(given)
    return shlex.join(["mosaic", "train", form.algo, *own, *of_environment, *words])


def _of_script(form: TrainForm, settings: JsonObject, words: list[str]) -> str:
    """Its own flags stand behind the others, under its own names."""
    module = settings.get("script_module")
    head = ["--module", str(module)] if module else ["--script", form.algo]
    idioms = [] if settings.get("script_idioms") == "auto" else [f"--script-idioms={settings['script_idioms']}"]
    assert form.algorithm is not None
    own = words_for(form.algorithm.schema, settings)
    return shlex.join(["mosaic", "train", *head, *words, *idioms, *(["--", *own] if own else [])])


def _object(document: JsonObject, path: str) -> JsonObject:
    found = look_up(document, path, {})
    return found if isinstance(found, dict) else {}


def _names(form: TrainForm) -> frozenset[str]:
    """Settings of the algorithm."""
    assert form.algorithm is not None
    return frozenset(_object(form.algorithm.schema, "properties"))


def _flag(name: str, value: JsonValue) -> str:
    if isinstance(value, bool):
        return config.flag_name(name if value else f"no_{name}")
    return f"{config.flag_name(name)}={value}"
