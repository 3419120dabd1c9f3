"""Which settings stand together under which title: by patterns of their names, for any algorithm there will be."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from mosaic.gui.models.form.schema_fields import ENVIRONMENT_SETTINGS, Setting

REST = "{algorithm}"
OF_ENVIRONMENT = "Environment settings"
"""Those of the environment that is chosen, whatever their names."""


@dataclass(frozen=True)
class Section:
    """A title and what stands under it."""

    title: str
    paths: tuple[str, ...]
    is_open: bool
    """Shown at first; the others are a click away."""


SECTIONS: Sequence[tuple[str, Sequence[str], bool]] = (
    ("Run", ("run_name", "tags", "*.config.total_*", "*.config.seed", "metadata.ui.seeds"), True),
    ("Environment", ("*.env_id", "*_envs", "*frame*"), True),
    (OF_ENVIRONMENT, (), False),
    ("Optimisation", ("*.algo_params.learning_*", "*_lr", "*grad*", "*.algo_params.*batch*", "*epochs*"), True),
    (REST, (), True),
    ("Live view", ("*.extras.fastlane_*", "*.extras.video_mode", "*.extras.grid_limit"), False),
    ("Tracking", ("artifacts.*", "*.extras.tensorboard_*", "*.extras.track_*", "*.extras.wandb_*"), False),
    ("Alerts", ("*.extras.alert_*",), False),
    ("Saving", ("*.extras.capture_*", "*.extras.save_*", "*.extras.checkpoint*"), False),
    ("Machine", ("resources.*", "*.extras.env_backend", "*.cuda", "*.torch_*", "metadata.ui.priority"), False),
    ("Description", ("*.extras.notes",), False),
)
"""Titles in order, with the patterns of the paths that stand there; what none of them fits is the algorithm's own."""

GOVERNED: Mapping[str, Sequence[str]] = {
    "metadata.worker.config.extras.track_wandb": ("metadata.worker.config.extras.wandb_*",),
    "metadata.worker.config.extras.wandb_use_vpn_proxy": ("metadata.worker.config.extras.wandb_http*",),
    "metadata.worker.config.extras.algo_params.spade": ("metadata.worker.config.extras.algo_params.spade_*",),
}
"""Switches of the run config, and the paths that mean something only while they are on."""


def sections_of(settings: Iterable[Setting], algorithm: str) -> list[Section]:
    found: dict[str, list[str]] = {title: [] for title, _, _ in SECTIONS}
    for setting in settings:
        title = next(
            (title for title, patterns, _ in SECTIONS if any(fnmatchcase(setting.path, one) for one in patterns)), REST
        )
        is_of_environment = setting.path.startswith(ENVIRONMENT_SETTINGS)
        found[OF_ENVIRONMENT if is_of_environment else title].append(setting.path)
    return [
        Section(algorithm if title == REST else title, tuple(found[title]), is_open)
        for title, _, is_open in SECTIONS
        if found[title]
    ]


def governors_of(path: str) -> list[str]:
    """The switches that must all be on for this path to mean something."""
    return [switch for switch, patterns in GOVERNED.items() if any(fnmatchcase(path, one) for one in patterns)]
