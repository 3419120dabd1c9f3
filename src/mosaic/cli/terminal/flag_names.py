"""What the daemon says of a config, in the words of the command line: `--cpus` where it says `resources.cpus`."""

import re

_PROBLEM = re.compile(r"(?m)(^ *|^run config: )((?:metadata|environment|resources)(?:\.\w+)+): ")
_SETTINGS = re.compile(r"resources|metadata\.worker\.config(\.extras\.algo_params)?")


def as_flags(said: str) -> str:
    """The same with flags in the place of paths in the document, where a problem begins with one."""
    return _PROBLEM.sub(lambda found: found[1] + _flag(found[2]), said)


def _flag(path: str) -> str:
    place, _, name = path.rpartition(".")
    if place == "environment.settings":
        return f"--env.{name}: "
    if name in ("script_flags", "algo"):
        return ""  # What is said begins with the script's own flag, or with its file.
    if _SETTINGS.fullmatch(place):
        return f"--{name.replace('_', '-')}: "
    return f"{path}: "
