"""Files of presets: those that ship with the package, and those of the user in the home."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from mosaic import config
from mosaic.errors import ConfigError, MosaicError
from mosaic.near_names import did_you_mean
from mosaic.spec.files.shared_files import read_small, write_atomically
from mosaic.spec.presets import preset as presets
from mosaic.spec.presets.preset import Preset
from mosaic.spec.run_dir import Home

SHIPPED = Path(__file__).with_name("shipped")
SUFFIX = ".json"
NAMED = 5
"""Presets that a message names."""
_NOT_FOR_FILES = re.compile(r"[^A-Za-z0-9._=+-]+")
_NUMBERS = re.compile(r"\[\s*-?[\d.eE+-]+(?:,\s*-?[\d.eE+-]+)*\s*\]")
"""A list of them: on one line."""
R = TypeVar("R")


class PresetFailed(MosaicError):
    """A file of a preset could not be read, written or removed."""

    exit_code = 4


class UnknownPreset(MosaicError):
    """No preset answers to a name."""

    exit_code = 2


@dataclass(frozen=True)
class Listed:
    """A preset, and the file that it stands in."""

    preset: Preset
    path: Path
    is_shipped: bool


def text_of(preset: Preset) -> str:
    """What its file holds; fields that say nothing are left out."""
    data = config.to_json(preset)
    kept = {key: value for key, value in data.items() if value or key == "v"}
    kept["environment"] = {key: value for key, value in config.to_json(preset.environment).items() if value}
    spread = json.dumps(kept, indent=1, ensure_ascii=False)
    return _NUMBERS.sub(lambda found: " ".join(found[0].split()), spread) + "\n"


def read(path: Path) -> Preset:
    return presets.parse(_attempt(path, read_small), what=str(path))


@cache
def shipped() -> tuple[Listed, ...]:
    found = [Listed(read(path), path, is_shipped=True) for path in sorted(SHIPPED.glob(f"*{SUFFIX}"))]
    return tuple(sorted(found, key=lambda one: one.preset.key))


class Presets:
    """Those of a home, `<home>/presets/`, and those that ship."""

    def __init__(self, home: Home) -> None:
        self._folder = home.root / "presets"

    def all(self) -> tuple[list[Listed], list[str]]:
        """The user's first, by name, then those that ship; and what is wrong with files that cannot be read."""
        own: list[Listed] = []
        problems: list[str] = []
        for path in _attempt(self._folder, _files):
            try:
                own.append(Listed(read(path), path, is_shipped=False))
            except (ConfigError, PresetFailed) as error:
                problems.append(error.sentence)
        own.sort(key=lambda one: (one.preset.name.lower(), one.preset.key))
        return [*own, *shipped()], problems

    def find(self, name: str, algo: str, env_id: str) -> Preset:
        """The preset of this algorithm in this environment; `name` may also be the file of another user."""
        if name.endswith(SUFFIX):
            return _meant(read(Path(name).expanduser()), algo, env_id)
        every, problems = self.all()
        for one in every:
            if one.preset.key == (algo, env_id, name):
                return one.preset
        raise UnknownPreset(_no_such(name, algo, env_id, [one.preset for one in every], problems))

    def environment_of(self, name: str, algo: str, default: str) -> str:
        """The environment that a preset is for, where a command names none; several are told apart by the user."""
        if name.endswith(SUFFIX):
            return read(Path(name).expanduser()).env_id
        named = [one.preset.env_id for one in self.all()[0] if (one.preset.algo, one.preset.name) == (algo, name)]
        if len(named) == 1 or not named or default in named:
            return named[0] if len(named) == 1 else default
        raise UnknownPreset(f"{algo} has a preset '{name}' for {_some(named)}; add --env-id")

    def save(self, preset: Preset) -> Path:
        """Written whole or not at all; an older one of the same name, algorithm and environment is replaced."""
        if not preset.name.strip() or len(preset.name) > presets.LONGEST_NAME:
            raise UnknownPreset(f"a preset needs a name of at most {presets.LONGEST_NAME} characters")
        if any(one.preset.key == preset.key for one in shipped()):
            raise UnknownPreset(
                f"'{preset.name}' is the name of a preset of {preset.algo} in {preset.env_id} that ships with MOSAIC;"
                " choose another name"
            )
        checked = presets.parse(text_of(preset), what=f"preset '{preset.name}'")
        path = self._folder / _file_name(checked)

        def write(path: Path) -> None:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Not synced: a window must not stand still while a disk is busy.
            write_atomically(path, text_of(checked), durable=False)

        _attempt(path, write)
        return path

    def delete(self, one: Listed) -> None:
        if one.is_shipped:
            raise UnknownPreset(f"'{one.preset.name}' ships with MOSAIC and cannot be deleted")
        _attempt(one.path, lambda path: path.unlink(missing_ok=True))


def _files(folder: Path) -> list[Path]:
    # Names with a dot before them are files that are being written.
    return sorted(path for path in folder.glob(f"[!.]*{SUFFIX}")) if folder.is_dir() else []


def _file_name(preset: Preset) -> str:
    """Readable, and another one for each key: what is not fit for a file name is told apart by a digest."""
    readable = "__".join(_NOT_FOR_FILES.sub("-", part)[-60:] for part in preset.key)
    return f"{readable}-{hashlib.sha256(repr(preset.key).encode()).hexdigest()[:8]}{SUFFIX}"


def _meant(preset: Preset, algo: str, env_id: str) -> Preset:
    if (preset.algo, preset.env_id) != (algo, env_id):
        raise UnknownPreset(
            f"preset '{preset.name}' is for {preset.algo} in {preset.env_id}, not for {algo} in {env_id}: {_WHY}"
        )
    return preset


_WHY = "what is good for one says nothing about another; give the settings as flags to try them there"


def _no_such(name: str, algo: str, env_id: str, every: Sequence[Preset], problems: Sequence[str]) -> str:
    here = [one.name for one in every if (one.algo, one.env_id) == (algo, env_id)]
    elsewhere = [f"{one.algo} in {one.env_id}" for one in every if one.name == name]
    same_algo = [f"{one.algo} in {one.env_id}" for one in every if one.name == name and one.algo == algo]
    if meant := did_you_mean(name, here):
        advice = meant
    elif elsewhere:
        advice = f"'{name}' is there for {_some(same_algo or elsewhere)}: {_WHY}"
    elif here:
        advice = f"there is {', '.join(here)}"
    else:
        advice = "'mosaic presets' lists what there is"
    broken = f"; {problems[0]}" if problems else ""
    return f"{algo} in {env_id} has no preset '{name}'; {advice}{broken}"


def _some(names: Sequence[str]) -> str:
    known = list(dict.fromkeys(names))
    more = f" and {len(known) - NAMED} more" if len(known) > NAMED else ""
    return ", ".join(known[:NAMED]) + more


def _attempt(path: Path, does: Callable[[Path], R]) -> R:
    try:
        return does(path)
    except OSError as error:
        raise PresetFailed(
            f"{path}: {error.strerror or error}; choose another file or correct its permissions"
        ) from error
