"""The form as a command: `mosaic train …` with only what differs from the defaults."""

import shlex

from mosaic import config
from mosaic.config import JsonObject, JsonValue
from mosaic.gui.models.form import Form
from mosaic.gui.models.paths import look_up
from mosaic.gui.models.run_settings import EXTRAS, LABEL, PARAMS, PRIORITY, SEEDS, WORKER
from mosaic.scripts.flags import words_for
from mosaic.scripts.script import is_script
from mosaic.spec.run_config import TrainOptions

RUN_FLAGS = {
    LABEL: "label",
    SEEDS: "seeds",
    PRIORITY: "priority",
    "resources.cpus": "cpus",
    "resources.gpus": "gpus",
    "artifacts.tensorboard.enabled": "tensorboard",
}
"""Flags of `mosaic train` for what stands outside of the worker's config, by path of the field."""


def command_line(form: Form) -> str:
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
    return shlex.join(["mosaic", "train", form.algo, *own, *words])


def _of_script(form: Form, settings: JsonObject, words: list[str]) -> str:
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


def _names(form: Form) -> frozenset[str]:
    """Settings of the algorithm."""
    assert form.algorithm is not None
    return frozenset(_object(form.algorithm.schema, "properties"))


def _flag(name: str, value: JsonValue) -> str:
    if isinstance(value, bool):
        return config.flag_name(name if value else f"no_{name}")
    return f"{config.flag_name(name)}={value}"
