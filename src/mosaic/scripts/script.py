"""A script, read but never run: its flags as a JSON Schema, which Gymnasium it was written for, what it needs.

The schema always has `env_id`, `total_timesteps` and `seed`, because the studio lists every run by them: under the
script's own flag where it has one (`gym_id`, `total_steps`), otherwise with what its source says. `script_flags`,
`script_module` and `script_idioms` are ours.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from mosaic.errors import ConfigError, Problem
from mosaic.scripts.constant_values import Unknown, is_finite, value_of
from mosaic.scripts.tyro_fields import properties_of, tyro_class

SUFFIX = ".py"
LIMIT_BYTES = 2 * 2**20
OWN = ("script_flags", "script_module", "script_idioms")
"""Settings of ours among those of the script."""
STYLE, NAMED = "x-style", "x-named"
"""Keys of the schema that a client needs to write down the script's command line."""
NO_ENVIRONMENT = "unknown"
DEFAULT_STEPS = 1_000_000

Style = Literal["tyro", "argparse", "plain"]
Idioms = Literal["0.29", "1.x"]

_ALIASES = {
    "env_id": ("env_id", "gym_id", "env_name", "environment", "env", "task"),
    "total_timesteps": ("total_timesteps", "total_steps", "num_timesteps", "timesteps", "n_timesteps", "max_steps"),
    "seed": ("seed",),
}
_OLD = re.compile(
    r"final_observation|\bAutoResetWrapper\b|\bGrayScaleObservation\b|\bFrameStack\(|\bcleanrl_utils\b"
    r"|\bfinal_info\b|\bVectorListInfo\b|\bVectorEnvWrapper\b|\bapply_api_compatibility\b"
)
_NEW = re.compile(r"\bAutoresetMode\b|\bautoreset_mode\b|[\"']final_obs[\"']|[\"']_final_info[\"']")
_RL = ("gymnasium", "gym", "stable_baselines3", "sb3_contrib", "envpool", "tianshou", "torchrl")


@dataclass(frozen=True)
class Script:
    """What reading tells."""

    path: Path
    style: Style
    summary: str
    schema: dict[str, Any]
    idioms: Idioms
    named: Mapping[str, str]
    """Which of env_id, total_timesteps and seed the script takes, and under which name."""
    imports: tuple[str, ...]
    """Top-level packages that it cannot do without."""
    acts: bool
    """Whether it does something when it is run, beside defining things."""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def stem(self) -> str:
        return self.path.name.removesuffix(SUFFIX)

    @property
    def trains(self) -> bool:
        """Whether it looks like a program that steps environments, and not like a library or a test."""
        return (
            self.acts
            and any(package in _RL for package in self.imports)
            and not self.name.startswith(("test_", "_", "setup"))
        )


def is_script(algo: str) -> bool:
    """Whether a config's algorithm is a script's path rather than a name."""
    return algo.endswith(SUFFIX)


def read(path: Path) -> Script:
    """Read a script; ConfigError with file and line if it is none."""
    try:
        about = path.stat()
        if about.st_size > LIMIT_BYTES:
            raise _refused(path, f"is {about.st_size:,} bytes long, which no training script is")
        return _read(path, about.st_mtime_ns, about.st_size)
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}") from error


@lru_cache(maxsize=1024)
def _read(path: Path, _mtime_ns: int, _size: int) -> Script:
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text, str(path))
    except SyntaxError as error:
        raise _refused(path, f"line {error.lineno}: {error.msg}") from error
    except (UnicodeDecodeError, ValueError, RecursionError, MemoryError) as error:
        raise _refused(path, f"is not Python source: {error}") from error
    style, own, named = _flags(tree, path)
    return Script(
        path=path,
        style=style,
        summary=_summary(tree, style),
        schema={"type": "object", "properties": own, STYLE: style, NAMED: named},
        idioms="0.29" if _OLD.search(text) and not _NEW.search(text) else "1.x",
        named=named,
        imports=tuple(dict.fromkeys(_imports(tree))),
        acts=any(map(_acts, tree.body)),
    )


def _refused(path: Path, message: str) -> ConfigError:
    return ConfigError([Problem(path.name, message)], what=str(path))


def _flags(tree: ast.Module, path: Path) -> tuple[Style, dict[str, Any], dict[str, str]]:
    stem = path.name.removesuffix(SUFFIX)
    cls = tyro_class(tree)
    if cls is not None:
        style, own = "tyro", properties_of(tree, cls, stem=stem)
    else:
        own = _argparse_flags(tree, stem)
        style = "argparse" if own or any(name == "argparse" for name in _imports(tree)) else "plain"
    found: dict[str, Any] = {}
    named: dict[str, str] = {}
    for outside, aliases in _ALIASES.items():
        name = next((alias for alias in aliases if alias in own), None)
        spec = None if name is None else own.pop(name)
        if name is not None and spec is not None and _fits_outside(outside, spec):
            named[outside] = spec.get("spelled", name)
            found[outside] = _outside_flag(outside, spec)
        else:
            found[outside] = _guess(outside, tree, stem)
    return style, found | (own if style == "tyro" else {}) | _ours(style), named


def _fits_outside(outside: str, spec: dict[str, Any]) -> bool:
    wanted = ("string",) if outside == "env_id" else ("integer", "number")
    kinds = {one.get("type") for one in spec.get("anyOf", [spec])} - {"null"}
    return len(kinds) == 1 and kinds.pop() in wanted


def _outside_flag(outside: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The run config has its own rules for these three: a text, a positive number, a seed."""
    text, default = spec.get("description", ""), spec.get("default")
    if outside == "env_id":
        return {"type": "string", "description": text, "default": default or NO_ENVIRONMENT}
    otherwise = DEFAULT_STEPS if outside == "total_timesteps" else 1
    number = int(default) if isinstance(default, int | float) and is_finite(default) else otherwise
    least = 1 if outside == "total_timesteps" else 0
    return {"type": "integer", "minimum": least, "description": text, "default": max(number, least)}


def _guess(outside: str, tree: ast.Module, stem: str) -> dict[str, Any]:
    if outside == "env_id":
        env_id = next(_made_environments(tree), NO_ENVIRONMENT)
        text = "Environment, as lists show it; this script has no flag for it and decides itself."
        return {"type": "string", "description": text, "default": env_id}
    if outside == "seed":
        text = "Seeds random, numpy and torch before the script begins; it has no flag of its own for this."
        return {"type": "integer", "minimum": 0, "description": text, "default": 1}
    text = "Steps that the script is expected to make, for the progress bar; it has no flag of its own for this."
    steps = next(chain(_learned_steps(tree, stem), _named_steps(tree, stem)), DEFAULT_STEPS)
    return {"type": "integer", "minimum": 1, "description": text, "default": steps}


def _ours(style: Style) -> dict[str, Any]:
    free = "Further flags, handed over as they are." if style == "tyro" else "Flags of the script, handed over as is."
    return {
        "script_flags": {"type": "string", "description": free, "default": ""},
        "script_module": {
            "type": "string",
            "description": "Run it as this module (`python -m`), with the folder of its package on the path.",
            "default": "",
        },
        "script_idioms": {
            "enum": ["auto", "0.29", "1.x"],
            "description": "Gymnasium that the script was written for; auto reads it from the source.",
            "default": "auto",
        },
    }


def _argparse_flags(tree: ast.Module, stem: str) -> dict[str, Any]:
    """Those flags of an argparse script that the studio lists runs by."""
    wanted = {alias for aliases in _ALIASES.values() for alias in aliases}
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=[*words], keywords=keywords):
                names = [word.value for word in words if isinstance(word, ast.Constant) and isinstance(word.value, str)]
                spelled = next((one[2:] for one in names if one.startswith("--")), "")
                if (name := spelled.replace("-", "_")) in wanted:
                    found[name] = _argparse_property(keywords, stem) | {"spelled": spelled}
            case _:
                continue
    return found


def _argparse_property(keywords: list[ast.keyword], stem: str) -> dict[str, Any]:
    given = {keyword.arg: keyword.value for keyword in keywords}
    kind = given.get("type")
    name = kind.id if isinstance(kind, ast.Name) else "str"
    spec: dict[str, Any] = {"type": {"int": "integer", "float": "number"}.get(name, "string"), "description": ""}
    for key, word in (("description", "help"), ("default", "default")):
        try:
            spec[key] = value_of(given[word], stem=stem)
        except (KeyError, Unknown):
            continue
    return spec


def _made_environments(tree: ast.Module) -> Iterator[str]:
    makers = ("make", "make_vec", "make_vec_env", "make_gym", "make_gymnasium", "make_atari_env")
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr=name) | ast.Name(id=name), args=[ast.Constant(value=str(env_id)), *_]
            ) if name in makers:
                yield env_id
            case ast.Call(func=ast.Name(), args=[ast.Constant(value=str()), ast.Constant(value=str(env_id)), *_]) if (
                re.fullmatch(r"[\w/:]+-v\d+", env_id)
            ):
                # PPO("MlpPolicy", "CartPole-v1") of Stable-Baselines3.
                yield env_id
            case _:
                continue


def _learned_steps(tree: ast.Module, stem: str) -> Iterator[int]:
    """What the script asks a library to learn: `model.learn(10_000)`, or a constant of the script."""
    named = dict(_constants(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "learn":
            given = [keyword.value for keyword in node.keywords if keyword.arg == "total_timesteps"] or node.args[:1]
            for value in given:
                yield from _steps(named.get(value.id, value) if isinstance(value, ast.Name) else value, stem)


def _named_steps(tree: ast.Module, stem: str) -> Iterator[int]:
    """A constant that is named like the flag: `TOTAL_TIMESTEPS = 10_000`."""
    for name, value in _constants(tree):
        if name.lower() in _ALIASES["total_timesteps"]:
            yield from _steps(value, stem)


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """What the file assigns to a name at its top."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case _:
                continue


def _steps(value: ast.expr, stem: str) -> Iterator[int]:
    try:
        steps = value_of(value, stem=stem)
    except Unknown:
        return
    if isinstance(steps, int | float) and is_finite(steps) and steps >= 1:
        yield int(steps)


def _imports(tree: ast.Module) -> Iterator[str]:
    """Packages imported at the top of the file, whatever else it does."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _acts(node: ast.stmt) -> bool:
    match node:
        case ast.If(test=test):
            return "__name__" in ast.unparse(test)
        case ast.For() | ast.While() | ast.With() | ast.Try() | ast.Expr(value=ast.Call()):
            return True
        case _:
            return False


def _summary(tree: ast.Module, style: Style) -> str:
    text = (ast.get_docstring(tree) or "").strip().partition("\n")[0]
    return (
        text or {"tyro": "script with tyro flags", "argparse": "script with argparse flags", "plain": "script"}[style]
    )
