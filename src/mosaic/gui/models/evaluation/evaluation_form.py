"""The form of an evaluation without its widgets: which policies, where they play, and how.

Environment, algorithm and seed are what the file, or what lies beside it, says; they are locked until "override
environment" is ticked, so that no policy is evaluated in the wrong place by accident. The settings below are those
of the run config's own schema.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from PySide6.QtCore import QObject, Signal

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import ConfigError, Problem
from mosaic.gui.models.evaluation.policies_model import name_of_policy
from mosaic.gui.models.form.environment_choice import EnvironmentChoice
from mosaic.gui.models.form.form_field import Field
from mosaic.gui.models.form.json_paths import put
from mosaic.gui.models.form.run_settings import ALGO, ENV_ID, EXTRAS, SEED
from mosaic.gui.models.form.schema_fields import Setting, settings_of
from mosaic.rpc.policy_info import PolicyInfo
from mosaic.spec import run_config

EPISODES = f"{EXTRAS}.eval_episodes"
TITLES = {
    EPISODES: "Episodes per batch",
    f"{EXTRAS}.eval_repeat": "Repeat until stopped",
    f"{EXTRAS}.eval_deterministic": "Likeliest actions",
    f"{EXTRAS}.eval_capture_video": "Capture evaluation video",
    f"{EXTRAS}.seed_override": "Seed override",
    f"{EXTRAS}.video_mode": "Live view",
    f"{EXTRAS}.grid_limit": "Grid limit",
    f"{EXTRAS}.fastlane_only": "Live view only",
    f"{EXTRAS}.eval_normaliser": "Normaliser",
    f"{EXTRAS}.eval_trust": "Trust an SB3 zip",
}
"""The settings that the form has, in order."""
PLACE = {ENV_ID: "Environment", ALGO: "Algorithm", SEED: "Seed"}
"""What is detected."""
SchemaOf: TypeAlias = Callable[[str], Mapping[str, Any] | None]
FIRST_SEED = 1
AS_EACH = "as each was trained"


class EvaluationForm(QObject):
    """Fields by path; several policies make several runs that differ in nothing else."""

    chosen_changed = Signal()
    field_changed = Signal(str)
    rebuilt = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.chosen: Sequence[PolicyInfo] = ()
        self.overrides = False
        self.fields: dict[str, Field] = {}
        self.environment = EnvironmentChoice()
        """Settings of the environment, over those of the training."""
        self._schema_of: SchemaOf = lambda _: None

    def use(self, run_schema: JsonObject, schema_of: SchemaOf = lambda _: None) -> None:
        """The settings, once their schema is known; what was typed before stays.

        `schema_of` gives the schema of an environment's own settings.
        """
        self._schema_of = schema_of
        typed = {path: field.text for path, field in self.fields.items() if field.is_changed}
        found = {setting.path: setting for setting in settings_of(run_schema, inside={}, kind="policy_eval")}
        settings = [replace(found[path], title=title) for path, title in (PLACE | TITLES).items()]
        self.fields = {setting.path: Field(_eased(setting)) for setting in settings}
        for path, text in typed.items():
            self.fields[path].type(text)
        self._detect()
        self.rebuilt.emit()

    def choose(self, policies: Sequence[PolicyInfo]) -> None:
        if list(policies) != list(self.chosen):
            self.chosen = policies
            self._detect()
            self.chosen_changed.emit()

    def override(self, on: bool) -> None:
        if on != self.overrides:
            self.overrides = on
            for path, value in ((ENV_ID, "env_id"), (ALGO, "algo")):
                if on and self.fields and self.fields[path].text == AS_EACH:
                    self.type(path, str(getattr(self.chosen[0], value)))
            self._detect()
            self.chosen_changed.emit()

    def is_locked(self, path: str) -> bool:
        """Detected, and not to be typed over; what no policy file tells has to be typed."""
        return path in PLACE and not self.overrides and (path != ENV_ID or all(one.env_id for one in self.chosen))

    def type(self, path: str, text: str) -> None:
        field = self.fields[path]
        if text != field.text:
            field.type(text)
            self.field_changed.emit(path)
            if path == ENV_ID:
                self._look_at_environment()

    @property
    def source(self) -> str:
        """Where the environment was found, in words."""
        if not self.chosen:
            return "Choose a policy above, or browse for a file."
        if len(self.chosen) > 1:
            return f"{len(self.chosen)} policies play the same episodes, so that they can be compared."
        [policy] = self.chosen
        if not policy.env_id:
            return "No file beside the policy names the environment it was trained in: type it."
        return f"Detected from {policy.source}."

    def problems(self) -> list[Problem]:
        """What is wrong with the form as it is."""
        found = [Problem(path, field.broken_rule) for path, field in self.fields.items() if field.broken_rule]
        if not self.chosen:
            found.append(Problem("", "no policy is chosen"))
        if self.environment.problem:
            found.append(Problem("", self.environment.problem))
        return found

    def documents(self) -> list[JsonObject]:
        """A run config for each chosen policy; ConfigError with all that is wrong."""
        if problems := self.problems():
            raise ConfigError(problems, what="the form")
        return [self._document(policy) for policy in self.chosen]

    def _document(self, policy: PolicyInfo) -> JsonObject:
        document: JsonObject = {"artifacts": {}}
        put(document, f"{EXTRAS}.mode", "policy_eval")
        put(document, f"{EXTRAS}.policy_path", policy.path)
        for path in TITLES:
            put(document, path, self.fields[path].value)
        put(document, f"{EXTRAS}.eval_batch_size", self.fields[EPISODES].value)
        typed = self.overrides or not policy.env_id
        env_id = str(self.fields[ENV_ID].value) if typed else policy.env_id
        put(document, ENV_ID, env_id)
        put(document, "environment.env_id", env_id)
        put(document, "environment.settings", self._settings_for(policy, env_id))
        put(document, SEED, self.fields[SEED].value)
        # What a name suggests of a file from elsewhere is left to its weights, unless the user insists.
        own = policy.algo if policy.kind == "mosaic" else ""
        put(document, ALGO, str(self.fields[ALGO].value or "") if self.overrides else own)
        put(document, "run_name", f"{name_of_policy(policy)}, evaluated")
        put(document, "metadata.ui", {"form": "evaluate", "override_environment": self.overrides})
        return config.to_json(run_config.parse(document))

    def _detect(self) -> None:
        """What the files say, where it is locked."""
        if not self.fields:
            return
        for path, values in (
            (ENV_ID, [policy.env_id for policy in self.chosen]),
            (ALGO, [policy.algo for policy in self.chosen]),
            (SEED, [str(FIRST_SEED if policy.seed is None else policy.seed) for policy in self.chosen[:1]]),
        ):
            if self.is_locked(path) and values:
                same = len(set(values)) == 1
                self.fields[path].type(values[0] if same else AS_EACH)
                self.field_changed.emit(path)
        self._look_at_environment()

    def _look_at_environment(self) -> None:
        """The settings of the one environment that all chosen policies play in; none where there are several."""
        env_id = str(self.fields[ENV_ID].value or "")
        if not self.chosen or env_id in ("", AS_EACH):
            self.environment.use("", None)
            return
        trained = [dict(policy.env_settings) for policy in self.chosen if policy.env_id == env_id]
        is_one = bool(trained) and all(one == trained[0] for one in trained)
        self.environment.use(env_id, self._schema_of(env_id), trained[0] if is_one else {})

    def _settings_for(self, policy: PolicyInfo, env_id: str) -> JsonObject:
        """As it was trained, if it plays where it was, with what was changed here."""
        trained = dict(policy.env_settings) if policy.env_id == env_id else {}
        return {**trained, **(self.environment.values if env_id == self.environment.env_id else {})}


def _eased(setting: Setting) -> Setting:
    """An algorithm may be left to be found out; what is required has no default to show."""
    return replace(setting, default=FIRST_SEED if setting.path == SEED else setting.default)
