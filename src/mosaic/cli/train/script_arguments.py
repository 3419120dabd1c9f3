"""The words of `mosaic train` that are about a script: which file, and which words are its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.cli.daemon.connection import BadArguments, refuse_remote
from mosaic.scripts import algorithm_file, script
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.script import Script, is_script
from mosaic.scripts.script_flags import settings_from
from mosaic.spec.run_config import NOT_FOR_SCRIPTS
from mosaic.spec.run_dir import Home


@dataclass(frozen=True)
class Given:
    script: Script
    settings: dict[str, Any]
    words: list[str]
    """Those of the run."""


def is_about_script(argv: Sequence[str]) -> bool:
    before = argv[: argv.index("--")] if "--" in argv else argv
    flags = any(word.partition("=")[0] in ("--script", "--module") for word in before)
    return flags or is_script(argv[0])


def parse(argv: Sequence[str]) -> Given:
    at = argv.index("--") if "--" in argv else len(argv)
    words, own = list(argv[:at]), list(argv[at + 1 :])
    if is_script(words[0]) and not words[0].startswith("-"):
        words = ["--script", *words]
    # The file is read here, before a worker is asked to run it.
    refuse_remote("train --script")
    path, module = _take(words, "--script"), _take(words, "--module")
    idioms = _take(words, "--script-idioms") or "auto"
    if idioms not in ("auto", "0.29", "1.x"):
        raise BadArguments(f"--script-idioms: '{idioms}' is not one of auto, 0.29, 1.x")
    if path is not None and module is not None:
        raise BadArguments("--script and --module both name a script; give one of them")
    found = Path(path).expanduser() if path is not None else _module_file(str(module))
    if not is_script(found.name):
        raise BadArguments(f"{found} is not a Python file: a script's name ends with {script.SUFFIX}")
    about = algorithm_file.read(Path(found.absolute()))
    if about.is_listed and not about.problem:
        raise BadArguments(f"{found} is an algorithm, not a script: mosaic train {found}")
    read = script.read(Path(found.absolute()))
    prog = f"mosaic train --script {read.name} --"
    ours = {"script_module": module or "", "script_idioms": idioms}
    return Given(read, settings_from(read, own, prog=prog) | ours, words)


def refuse_unused(given: Mapping[str, Any], defaults: Mapping[str, Any], *, prog: str) -> None:
    for name in NOT_FOR_SCRIPTS:
        if given[name] != defaults[name]:
            flag = "--" + name.replace("_", "-")
            raise BadArguments(f"{prog}: {flag} is for our own algorithms; a script's flag stands behind '--'")


def _take(words: list[str], flag: str) -> str | None:
    """The value of a flag, taken out of the words."""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == flag:
            if not equals and at + 1 == len(words):
                raise BadArguments(f"{flag}: which one? For example: mosaic train {flag} ppo.py")
            found = value if equals else words[at + 1]
            del words[at : at + (1 if equals else 2)]
            return found
    return None


def _module_file(module: str) -> Path:
    """The file of a module: in this folder, or in an allowed one."""
    places = [Path.cwd(), *Allowed(Home.resolve()).folders()]
    for place in places:
        path = place.joinpath(*module.split(".")).with_suffix(script.SUFFIX)
        if path.is_file():
            return path
    listed = ", ".join(map(str, places))
    raise BadArguments(f"module {module} is in none of {listed}; mosaic scripts add the folder that holds its package")
