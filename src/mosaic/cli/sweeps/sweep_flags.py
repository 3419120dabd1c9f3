"""The words of `mosaic sweep ALGO`: those of the sweep, of the run and of the algorithm, made into a plan."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from mosaic import config
from mosaic.cli.daemon.connection import BadArguments, Parser
from mosaic.cli.sweeps.setting_words import given_settings
from mosaic.cli.sweeps.zoo_words import zoo_words
from mosaic.cli.train import own_environment, train
from mosaic.cli.train.environment_arguments import environment_settings_of
from mosaic.cli.train.train import RunFlags
from mosaic.errors import ConfigError, Problem
from mosaic.rpc.client import Client
from mosaic.spec import environment_flags
from mosaic.spec.seed_list import parse_seeds
from mosaic.sweep import space, space_words, sweep_plan
from mosaic.sweep.sweep_plan import BEST, CONFIRM_SEEDS, PRUNE, RETURN, TRIALS, SweepPlan

NOT_FOR_SWEEPS = ("client_key", "upload_model", "hf_entity", "dry_run", "stop_at_return")
"""Flags of a run that mean nothing to a sweep."""


def parser() -> Parser:
    words = Parser(prog="mosaic sweep ALGO", add_help=False, allow_abbrev=False, usage=argparse.SUPPRESS)
    own = words.add_argument_group("flags of the sweep")
    own.add_argument(
        "--space",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUES",
        help="what is changed: learning_rate=log:1e-5..1e-2 num_envs=4,8,16 gamma=logit:0.9..0.999"
        " num_steps=pow2:32..512 env.gravity=-11..-8; 'default' is the algorithm's own space, taken if none is named",
    )
    own.add_argument("--trials", type=int, metavar="N", help=f"settings to try, the default first (default {TRIALS})")
    own.add_argument("--runs", type=int, metavar="N", help="at most so many runs, the confirmation among them")
    own.add_argument("--steps", type=int, metavar="N", help="at most so many environment steps in all")
    own.add_argument("--hours", type=float, metavar="H", help="at most so many hours; pauses do not count")
    own.add_argument("--parallel", type=int, default=0, metavar="N", help="runs at a time (default: all slots)")
    own.add_argument("--method", choices=("tpe", "random", "grid"), default="tpe", help="who proposes (default tpe)")
    own.add_argument(
        "--prune",
        choices=get_args(sweep_plan.Prune),
        default=PRUNE,
        help=f"when a bad trial is stopped; it can be resumed (default {PRUNE})",
    )
    own.add_argument("--metric", default=RETURN, metavar="TAG", help=f"what is judged (default {RETURN})")
    own.add_argument("--goal", choices=("maximize", "minimize"), default="maximize", help="(default maximize)")
    own.add_argument(
        "--confirm", type=int, default=BEST, metavar="N", help=f"best settings to confirm, 0 for none (default {BEST})"
    )
    seeds = f"{CONFIRM_SEEDS[0]}-{CONFIRM_SEEDS[-1]}"
    own.add_argument("--confirm-seeds", default=seeds, metavar="SEEDS", help=f"fresh seeds for these (default {seeds})")
    own.add_argument(
        "--confirm-all",
        action="store_true",
        help="give each of them all fresh seeds; otherwise those that fall behind get no further ones",
    )
    own.add_argument("--proposal-seed", type=int, default=0, metavar="N", help="seed of the proposals (default 0)")
    own.add_argument("--file", type=Path, metavar="F", help="a hyperparams file of rl-zoo3, for the default settings")
    return words


def plan_of_words(
    client: Client,
    algo: str,
    argv: Sequence[str],
    *,
    dimensions: Sequence[space.Dimension] = (),
    notes: Sequence[str] = (),
) -> tuple[SweepPlan, RunFlags]:
    """The plan, checked; ConfigError with everything that is wrong with the command line.

    `dimensions` are those of a file, which --space adds to.
    """
    what = f"mosaic sweep {algo}"
    argv = environment_flags.with_reference(argv, own_environment.reference_of)
    words, environment = environment_flags.take(argv, what=what)
    own, rest = parser().parse_known_args(words)
    if own.file is not None:
        of_file, said = zoo_words(client, algo, own.file, rest)
        rest, notes = [*of_file, *rest], [*notes, *said]
    settings, flags, preset = train.parse(client, algo, rest, verb="sweep")
    _refuse_unused(flags, what=what)
    before = preset.environment.settings if preset else {}
    env_settings = environment_settings_of(client, environment, settings.env_id, what=what, before=before)
    document = config.to_json(train.document_of(algo, settings, flags, env_settings, preset))
    schema = client.algorithms()[algo].schema
    env_schema = client.environment(settings.env_id).settings
    fixed = given_settings(words)
    made = list(dimensions)
    if own.space or not dimensions:
        made += space_words.parse(own.space, schema, env_schema, fixed=fixed, what=what, env_id=settings.env_id)
    has_seed = "seed" in fixed
    return plan_of(document, made, env_schema, own, flags, what=what, notes=notes, has_seed=has_seed), flags


def plan_of(
    document: dict[str, Any],
    dimensions: Sequence[space.Dimension],
    env_schema: space.Schema | None,
    own: argparse.Namespace,
    flags: RunFlags,
    *,
    what: str,
    notes: Sequence[str] = (),
    has_seed: bool,
) -> SweepPlan:
    """`has_seed`: the user has given one for every trial; otherwise each has its own."""
    own_seed = int(document["metadata"]["worker"]["config"]["seed"])
    unlimited = own.trials is None and own.runs is None and own.steps is None and own.hours is None
    made: dict[str, Any] = {
        "label": flags.label,
        "document": document,
        "space": [config.to_json(one) for one in dimensions],
        "defaults": space.defaults(document, dimensions, env_schema),
        "method": own.method,
        "prune": own.prune,
        "metric": own.metric,
        "goal": own.goal,
        "seeds": _seeds("--seeds", flags.seeds, what) or [own_seed],
        "own_seeds": 0 if flags.seeds or has_seed else 1,
        "confirm_best": own.confirm,
        "confirm_seeds": _seeds("--confirm-seeds", own.confirm_seeds, what) if own.confirm else [],
        "race": not own.confirm_all,
        "trials": TRIALS if unlimited else own.trials,
        "runs": own.runs,
        "steps": own.steps,
        "hours": own.hours,
        "parallel": own.parallel,
        "priority": flags.priority,
        "proposal_seed": own.proposal_seed,
        "notes": list(notes),
    }
    try:
        return sweep_plan.parse(made, what=what)
    except ConfigError as error:
        spoken = [Problem(_flag(problem.path), problem.message) for problem in error.problems]
        raise ConfigError(spoken, what=what) from None


def _flag(path: str) -> str:
    name = {"confirm_best": "confirm"}.get(path, path)
    return path if not path or path.startswith("--") or "." in path else config.flag_name(name)


def _seeds(flag: str, text: str, what: str) -> list[int]:
    try:
        return parse_seeds(text)
    except ValueError as error:
        raise ConfigError([Problem(flag, str(error))], what=what) from None


def _refuse_unused(flags: RunFlags, *, what: str) -> None:
    defaults = RunFlags()
    for name in NOT_FOR_SWEEPS:
        if getattr(flags, name) != getattr(defaults, name):
            raise BadArguments(f"{what}: {config.flag_name(name)} is for a single run; a sweep has no use for it")
