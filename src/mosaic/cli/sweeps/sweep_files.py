"""`mosaic sweep FILE.yaml`: a W&B sweep of a script or of an algorithm, or a block of a hyperparams file of rl-zoo3."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mosaic import config
from mosaic.cli.daemon.connection import BadArguments
from mosaic.cli.sweeps.setting_words import given_settings, word_of
from mosaic.cli.sweeps.sweep_flags import parser, plan_of, plan_of_words
from mosaic.cli.train import train
from mosaic.cli.train.train import RunFlags
from mosaic.errors import ConfigError, Problem
from mosaic.rpc.client import Client
from mosaic.scripts import script
from mosaic.scripts.script import Script
from mosaic.spec.catalogue import extras
from mosaic.sweep import space, wandb_sweep, zoo_file
from mosaic.sweep.space import SCRIPT, Dimension
from mosaic.sweep.sweep_plan import RETURN, SweepPlan
from mosaic.sweep.wandb_sweep import WandbSweep

NOTHING = Problem("parameters", "leaves nothing to search: give one of them several values, or min and max")


def plan_of_file(client: Client, path: Path, words: Sequence[str]) -> tuple[SweepPlan, RunFlags]:
    extras.SWEEP.require(f"{path.name}, which is YAML,")
    what = f"mosaic sweep {path.name}"
    data = wandb_sweep.read_yaml(path)
    if zoo_file.is_zoo(data):
        return plan_of_words(client, path.stem, ["--file", str(path), *words])
    found = wandb_sweep.read(data, what=str(path))
    program = _program(found, path)
    if program is None:
        words = [*_seeds(found, "seed", words), *words]
        if not found.space and "space" not in given_settings(words):
            raise ConfigError([NOTHING], what=what)
        return _of_algorithm(client, found, words, what=what)
    read = script.read(program.absolute())
    if "seed" in read.named:
        words = [*_seeds(found, read.named["seed"], words), *words]
    _refuse_outside(found, read.named, what=what)
    if not found.space:
        raise ConfigError([NOTHING], what=what)
    return _of_script(found, read, words, what=what)


def _program(found: WandbSweep, path: Path) -> Path | None:
    """The script, as W&B finds it: from here; else beside the file. None if it is the name of an algorithm."""
    if not found.program:
        raise BadArguments(f"{path} names no program; a W&B sweep runs one, for example program: train.py")
    for folder in (Path.cwd(), path.absolute().parent):
        if (folder / found.program).is_file():
            return folder / found.program
    if Path(found.program).parent == Path():
        return None
    raise BadArguments(f"program: {found.program} is neither here nor beside {path}")


def _of_algorithm(client: Client, found: WandbSweep, words: Sequence[str], *, what: str) -> tuple[SweepPlan, RunFlags]:
    """`program: ppo.py` without such a file is the algorithm ppo."""
    algo = Path(found.program).stem
    known = client.algorithms()
    if algo not in known:
        raise BadArguments(f"program: {found.program} is not a file, and {algo} is not an algorithm")
    properties: Any = known[algo].schema["properties"]
    unknown = [name for name in found.constants if name not in properties]
    problems = [Problem(name, f"is not a setting of {algo}") for name in unknown]
    dimensions: list[Dimension] = []
    for one in found.space:
        field: Any = properties.get(one.name)
        if one.name in space.OUTSIDE:
            problems.append(Problem(one.name, space.OUTSIDE[one.name]))
            continue
        if field is None:
            problems.append(Problem(one.name, f"is not a setting of {algo}"))
            continue
        try:
            dimensions.append(space.checked(_typed(one, field), field))
        except ValueError as error:
            problems.append(Problem(one.name, str(error)))
    if problems:
        raise ConfigError(problems, what=what)
    given = given_settings(words)
    fixed = [word_of(name, value) for name, value in found.constants.items() if name not in given]
    plan, flags = plan_of_words(
        client, algo, [*fixed, *_budget(found, words), *words], dimensions=dimensions, notes=_notes(found, algo)
    )
    return plan, flags


def _notes(found: WandbSweep, algo: str) -> list[str]:
    return [*found.notes, f"program: {found.program} is not a file here: the algorithm {algo} is taken"]


def _seeds(found: WandbSweep, name: str, words: Sequence[str]) -> list[str]:
    """A grid over seeds tries every trial with each of them; otherwise they are taken out of the space, and named.

    The seed of a run is never one of its settings: fresh seeds would confirm nothing.
    """
    given = next((one for one in found.space if one.name == name), None)
    if given is None:
        return []
    found.space.remove(given)
    if found.method == "grid" and given.values and "seeds" not in given_settings(words):
        listed = ",".join(map(str, given.values))
        found.notes.append(f"{name}: every trial is run with each of these seeds, as --seeds {listed}")
        return [f"--seeds={listed}"]
    found.notes.append(f"{name}: is left out; --seeds chooses the seeds of a trial, --confirm-seeds the fresh ones")
    return []


def _refuse_outside(found: WandbSweep, named: Mapping[str, str], *, what: str) -> None:
    """Steps and environment under the names that a script has for them."""
    searched = {one.name for one in found.space}
    problems = [Problem(name, space.OUTSIDE[ours]) for ours, name in named.items() if name in searched]
    if problems:
        raise ConfigError(problems, what=what)


def _of_script(found: WandbSweep, read: Script, words: Sequence[str], *, what: str) -> tuple[SweepPlan, RunFlags]:
    own, rest = parser().parse_known_args([*_budget(found, words), *words])
    if own.space:
        raise BadArguments(f"{what}: --space is for algorithms; what a script is given stands in the file's parameters")
    own_words = [word_of(name, value, dashes=read.style == "tyro") for name, value in found.constants.items()]
    before = rest[: rest.index("--")] if "--" in rest else list(rest)
    behind = rest[rest.index("--") + 1 :] if "--" in rest else []
    document, flags = train.document_of_script(["--script", str(read.path), *before, "--", *own_words, *behind])
    properties: Mapping[str, Any] = read.schema["properties"] if read.style == "tyro" else {}
    dimensions: list[Dimension] = []
    for one in found.space:
        field = properties.get(one.name)
        dimensions.append(_typed(one, field) if field is not None else replace(one, name=SCRIPT + one.name))
    notes = [*found.notes]
    if own.prune != "none":
        notes.append("a script has no checkpoints: a trial of it that is pruned cannot be resumed")
        if "total_timesteps" not in read.named:
            steps = document.metadata.worker.config.total_timesteps
            notes.append(f"{read.name} has no flag for its steps: trials are compared at shares of {steps:,}, or never")
    whole: dict[str, Any] = config.to_json(document)
    whole["metadata"]["ui"] = {"sweep": {"params": dict(found.constants)}}
    has_seed = read.named.get("seed", "") in {*found.constants, *given_settings(behind)}
    plan = plan_of(whole, dimensions, None, own, flags, what=what, notes=notes, has_seed=has_seed)
    return plan, flags


def _budget(found: WandbSweep, words: Sequence[str]) -> list[str]:
    """The flags of the sweep that the file stands for; those of the command line count."""
    given = given_settings(words[: words.index("--")] if "--" in words else words)
    made: dict[str, Any] = {"method": found.method, "metric": found.metric or RETURN, "prune": found.prune}
    if found.metric:
        made["goal"] = found.goal
    if found.run_cap is not None:
        made["trials"] = max(2, found.run_cap)
    if found.name:
        made["label"] = found.name
    return [f"--{name}={value}" for name, value in made.items() if name not in given]


def _typed(one: Dimension, field: Mapping[str, Any]) -> Dimension:
    """Numbers as the setting has them: YAML's 1 may mean 1.0."""
    kinds = {str(each.get("type", "")) for each in field.get("anyOf", [field])}
    if "number" in kinds and "integer" not in kinds:
        choices = tuple(float(v) if type(v) is int else v for v in one.choices)
        return replace(one, choices=choices, whole=False)
    return replace(one, whole=True) if "integer" in kinds and "number" not in kinds and not one.choices else one
