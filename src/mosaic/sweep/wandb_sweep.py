"""A W&B sweep file (YAML), read as it is: method, metric, parameters, early_terminate, run_cap and program.

What has no place here is named in `notes`, never dropped in silence; what would change the search is refused.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from mosaic.errors import ConfigError, Problem
from mosaic.near_names import no_such
from mosaic.sweep.space import Dimension, Value
from mosaic.sweep.sweep_plan import Goal, Method, Prune

METHODS: Mapping[str, Method] = {"bayes": "tpe", "random": "random", "grid": "grid"}
KNOWN = frozenset({"method", "metric", "parameters", "early_terminate", "run_cap", "program"})
HARMLESS = frozenset({"name", "description", "project", "entity"})
"""They name the sweep on W&B's pages, and change nothing."""
COMMAND = frozenset({"${env}", "${interpreter}", "${program}", "${args}", "python", "python3"})
"""Words of a command that say what happens anyway."""
MOST_STEPS = 1000
_WHOLE = frozenset({"int_uniform", "q_int_uniform"})


@dataclass
class WandbSweep:
    program: str = ""
    method: Method = "tpe"
    metric: str = ""
    goal: Goal = "minimize"
    """W&B's own default."""
    prune: Prune = "none"
    run_cap: int | None = None
    name: str = ""
    constants: dict[str, Value] = field(default_factory=dict[str, Value])
    """Parameters with one value."""
    space: list[Dimension] = field(default_factory=list[Dimension])
    notes: list[str] = field(default_factory=list[str])


def read_yaml(path: Path) -> dict[str, Any]:
    """ConfigError if it is not a YAML object."""
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError([Problem("", f"cannot be read: {error.strerror}")], what=str(path)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError([Problem("", " ".join(str(error).split()))], what=str(path)) from None
    if not isinstance(found, dict):
        raise ConfigError([Problem("", "is not a mapping of names to values")], what=str(path))
    return cast("dict[str, Any]", found)


def read(data: Mapping[str, Any], *, what: str) -> WandbSweep:
    """From the parsed file; ConfigError with everything that cannot be searched as it says."""
    made, problems = WandbSweep(), list[Problem]()
    made.program, made.name = str(data.get("program") or ""), str(data.get("name") or "")
    method = str(data.get("method", "bayes"))
    if method in METHODS:
        made.method = METHODS[method]
    else:
        problems.append(Problem("method", f"'{method}' is not known; {no_such(method, METHODS)}"))
    problems += _metric(data.get("metric"), made)
    problems += _early(data.get("early_terminate"), made)
    if (cap := data.get("run_cap")) is not None:
        if isinstance(cap, int) and cap >= 1:
            made.run_cap = cap
        else:
            problems.append(Problem("run_cap", f"must be a whole number, at least 1 (got {cap!r})"))
    problems += _parameters(data.get("parameters"), made)
    for key in data.keys() - KNOWN - HARMLESS:
        if key == "command":
            made.notes += _command(data[key])
        else:
            made.notes.append(f"{what}: '{key}' has no place here and is left out")
    if problems:
        raise ConfigError(problems, what=what)
    return made


def _metric(given: Any, made: WandbSweep) -> list[Problem]:
    if given is None:
        return []
    if not isinstance(given, dict) or not given.get("name"):
        return [Problem("metric", "needs a name, as in metric: {name: loss, goal: minimize}")]
    about = cast("dict[str, Any]", given)
    made.metric = str(about["name"])
    goal = str(about.get("goal", "minimize"))
    if goal not in ("maximize", "minimize"):
        return [Problem("metric.goal", f"'{goal}' is neither maximize nor minimize")]
    made.goal = goal
    if "target" in about:
        made.notes.append("metric.target has no place here and is left out: no sweep ends at a value")
    return []


def _early(given: Any, made: WandbSweep) -> list[Problem]:
    if given is None:
        return []
    about = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    if about.get("type") != "hyperband":
        return [Problem("early_terminate.type", f"must be hyperband (got {about.get('type')!r})")]
    made.prune = "hyperband"
    if others := sorted(about.keys() - {"type"}):
        made.notes.append(
            f"early_terminate: {', '.join(others)} count the lines that a run logs; here trials are compared at 1/27,"
            " 1/9 and 1/3 of their steps"
        )
    return []


def _parameters(given: Any, made: WandbSweep, prefix: str = "") -> list[Problem]:
    if not isinstance(given, dict) or not given:
        return [Problem("parameters", "is empty: a sweep changes one setting at least")]
    problems: list[Problem] = []
    for name, about in cast("dict[str, Any]", given).items():
        name = f"{prefix}{name}"
        if not isinstance(about, dict):
            problems.append(Problem(f"parameters.{name}", "needs value, values, or min and max"))
            continue
        about = cast("dict[str, Any]", about)
        if "parameters" in about:
            problems += _parameters(about["parameters"], made, f"{name}.")
            continue
        try:
            found = _parameter(name, about, made)
        except (ValueError, TypeError, OverflowError) as error:
            problems.append(Problem(f"parameters.{name}", str(error)))
            continue
        if isinstance(found, Dimension):
            made.space.append(found)
        else:
            made.constants[name] = found[0]
    return problems


def _parameter(name: str, about: dict[str, Any], made: WandbSweep) -> Dimension | tuple[Value]:
    kind = str(about.get("distribution", ""))
    if "value" in about or kind == "constant":
        return (_plain(about["value"]),)
    if "values" in about or kind.startswith("categorical"):
        values = list(dict.fromkeys(_plain(value) for value in about["values"]))
        if not values:
            raise ValueError("values is empty")
        if "probabilities" in about:
            made.notes.append(f"{name}: probabilities have no place here; all values are as likely at first")
        return Dimension(name=name, choices=tuple(values)) if len(values) > 1 else (values[0],)
    if "min" not in about or "max" not in about:
        raise ValueError(f"the distribution '{kind or 'without a name'}' has no min and max; give both")
    low, high = about["min"], about["max"]
    for limit in (low, high):
        if isinstance(limit, bool) or not isinstance(limit, (int, float)):
            # YAML reads 1e-5 as a text: it wants 1.0e-5.
            raise ValueError(f"'{limit}' is a text to YAML; write it as a number, as in 1.0e-5")
    return _range(name, kind, float(low), float(high), about, is_whole=isinstance(low, int) and isinstance(high, int))


def _range(name: str, kind: str, low: float, high: float, about: dict[str, Any], *, is_whole: bool) -> Dimension:
    if kind in ("", "uniform", *_WHOLE):
        return Dimension(name=name, low=low, high=high, whole=kind in _WHOLE or (not kind and is_whole))
    if kind == "log_uniform_values":
        return Dimension(name=name, low=low, high=high, scale="log")
    if kind == "log_uniform":
        return Dimension(name=name, low=math.exp(low), high=math.exp(high), scale="log")
    if kind in ("q_uniform", "q_log_uniform_values"):
        step = float(about.get("q", 1))
        count = math.floor((high - low) / step) + 1
        if not 2 <= count <= MOST_STEPS:
            raise ValueError(f"{kind} with q={step:g} makes {count} values; at most {MOST_STEPS} can be listed")
        values = [round(low + step * at, 12) for at in range(count)]
        whole = all(value % 1 == 0 for value in values)
        return Dimension(name=name, choices=tuple(int(value) if whole else value for value in values))
    raise ValueError(f"the distribution '{kind}' cannot be searched here; give min and max with log_uniform_values")


def _plain(value: Any) -> Value:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"{value!r} is a list or a mapping, which is not a value of a setting here")


def _command(given: Any) -> list[str]:
    """W&B's own default is the program with its flags, which is what happens here, too."""
    words = [str(word) for word in cast("list[Any]", given)] if isinstance(given, list) else [str(given)]
    others = [word for word in words if word not in COMMAND]
    return [f"command: {' '.join(others)} has no place here and is left out"] if others else []
