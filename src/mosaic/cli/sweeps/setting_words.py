"""Settings of an algorithm or a script as words of a command line."""

from collections.abc import Sequence
from typing import Any

from mosaic import config


def given_settings(words: Sequence[str]) -> set[str]:
    """Settings that a command line gives a value: the algorithm's own space leaves them as they are."""
    flags = [word.partition("=")[0] for word in words if word.startswith("--")]
    names = {config.name_of_flag(flag) for flag in flags}
    return names | {name.removeprefix("no_") for name in names}


def word_of(name: str, value: Any, *, dashes: bool = True) -> str:
    """`--num-envs=8`, `--no-anneal-lr`; without dashes as the name is spelt."""
    spelled = name.replace("_", "-") if dashes else name
    if isinstance(value, bool):
        return f"--{spelled}" if value else f"--no-{spelled}"
    return f"--{spelled}={value}"
