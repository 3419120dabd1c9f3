"""`mosaic stats GROUP… [--by algo,env]`: what groups of trainings or evaluations are worth, and how they compare."""

import argparse
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic.cli.daemon.connection import BadArguments, connect, parser
from mosaic.cli.statistics.figure_style import STYLES, Ground, save
from mosaic.cli.statistics.group_statistics import Statistics, as_json, statistics_of
from mosaic.cli.statistics.run_groups import BY, EVALUATION, RunGroup, groups_of
from mosaic.cli.statistics.run_scores import LAST, NoScore, scored
from mosaic.cli.statistics.table_formats import FORMATS, power_of
from mosaic.cli.terminal.printing import note, print_json
from mosaic.near_names import no_such
from mosaic.rpc.find_run import TRAINING
from mosaic.spec.catalogue.extras import PLOTS
from mosaic.statistics.reference_scores import Reference, reference_scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

JSON = "json"


def main(argv: Sequence[str]) -> int:
    flags = _flags(argv)
    if flags.figures or flags.report:
        PLOTS.require("drawing figures")
    with connect() as client:
        groups = groups_of(client, flags.groups, flags.by, EVALUATION if flags.evaluations else TRAINING)
        references = _references(groups, flags)
        found, notes = scored(client, groups, at=flags.at, last=flags.last, leave_out=flags.leave_out)
    statistics = statistics_of(found, threshold=flags.threshold, references=references)
    _print(statistics, flags)
    if flags.figures:
        for path in save(_figures(statistics, flags.theme), flags.figures):
            note(str(path))
    if flags.report:
        from mosaic.cli.statistics.html_report import write_report

        write_report(flags.report, statistics, notes, command=shlex.join(["mosaic", "stats", *argv]))
        note(str(flags.report))
    for line in notes:
        note(f"note: {line}")
    return 0


def _flags(argv: Sequence[str]) -> argparse.Namespace:
    words = parser("stats", "Statistics of groups of runs: scores over seeds, intervals, comparisons.", json=True)
    words.add_argument(
        "groups",
        nargs="+",
        metavar="GROUP",
        help="id of a group, a run of it (@last), a label, an algorithm or an environment; NAME=GROUP,GROUP names one",
    )
    words.add_argument(
        "--by",
        default="",
        metavar="algo,env",
        help=f"put all runs that are named into groups by these ({', '.join(BY)}); without env, environments are tasks"
        " whose scores are normalised",
    )
    words.add_argument(
        "--evaluations", action="store_true", help="labels, algorithms and @last mean evaluations, not trainings"
    )
    words.add_argument(
        "--format", choices=(*FORMATS, JSON), default="text", help="how tables are printed (default text)"
    )
    words.add_argument("--power", action="store_true", help="how many more seeds tell each group from the first")
    words.add_argument(
        "--threshold", type=float, metavar="RETURN", help="steps until 20 episodes return this on average"
    )
    words.number(
        "--last",
        low=1,
        default=LAST,
        metavar="N",
        help=f"episodes at the end of a training that count (default {LAST})",
    )
    words.number("--at", low=0, default=0, metavar="STEPS", help="trainings as they were at this step")
    words.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="ENV=RANDOM,GOOD",
        help="returns that count as 0 and 1 in an environment; may be repeated",
    )
    words.add_argument(
        "--leave-out", action="store_true", help="count the other runs where some have not finished or have no return"
    )
    words.add_argument("--figures", type=Path, metavar="FOLDER", help="draw figures, as PNG and SVG (extra 'plots')")
    words.add_argument("--theme", choices=tuple(STYLES), default="light", help="ground of the figures (default light)")
    words.add_argument(
        "--report", type=Path, metavar="FILE", help="write tables and figures as one HTML file ('plots')"
    )
    flags = words.parse_args(argv)
    if flags.figures and flags.figures.exists() and not flags.figures.is_dir():
        words.error(f"--figures: {flags.figures} is not a folder")
    if flags.report and (flags.report.suffix != ".html" or flags.report.is_dir()):
        words.error(f"--report: {flags.report} is not a name of a file that ends with .html")
    if flags.report and not flags.report.absolute().parent.is_dir():
        words.error(f"--report: {flags.report.absolute().parent} is not a folder; make it first")
    flags.by = [part for part in str(flags.by).split(",") if part]
    for part in flags.by:
        if part not in BY:
            words.error(f"--by: '{part}' is not known; {no_such(part, list(BY))}")
    flags.reference = dict(_reference(text) for text in flags.reference)
    flags.format = JSON if flags.json else flags.format
    return flags


def _reference(text: str) -> tuple[str, Reference]:
    env_id, _, numbers = text.rpartition("=")
    try:
        random, good = map(float, numbers.split(","))
        return env_id, Reference(random, good)
    except ValueError as error:
        said = f" ({error})" if "same" in str(error) else ""
        raise BadArguments(
            f"mosaic stats: --reference: '{text}' is not ENV=RANDOM,GOOD, for example Pendulum-v1=-1200,-150{said}"
        ) from None


def _references(groups: Sequence[RunGroup], flags: argparse.Namespace) -> dict[str, Reference] | None:
    """Of each environment, where groups go over several; None where each line is about one."""
    for group in groups:
        algorithms = sorted({run.algo for run in group.runs})
        if len(algorithms) > 1 and not flags.by and not group.is_named:
            raise NoScore(
                f"the runs of {group.name} are of different algorithms ({', '.join(algorithms)}); --by algo,env makes a"
                " group of each, NAME=GROUP takes them as one"
            )
    mixed = [group for group in groups if len(group.environments) > 1]
    if not mixed or "env" in flags.by:
        return None
    if not flags.by:
        group = mixed[0]
        raise NoScore(
            f"the runs of {group.name} are of different environments ({', '.join(group.environments)}), whose returns"
            " do not compare; --by algo takes environments as tasks with normalised scores, --by algo,env each alone"
        )
    known = {**reference_scores(), **flags.reference}
    every = sorted({env_id for group in groups for env_id in group.environments})
    if missing := [env_id for env_id in every if env_id not in known]:
        asked = " ".join(f"--reference {env_id}=RANDOM,GOOD" for env_id in missing)
        raise NoScore(
            f"no reference scores for {', '.join(missing)}, so nothing can be said over all environments; give {asked},"
            " or --by algo,env"
        )
    return {env_id: known[env_id] for env_id in every}


def _figures(statistics: Statistics, ground: Ground) -> "Mapping[str, Figure]":
    # Only here: matplotlib takes half a second to import.
    from mosaic.cli.statistics.stats_figures import figures_of

    return figures_of(statistics, ground)


def _print(statistics: Statistics, flags: argparse.Namespace) -> None:
    if flags.format == JSON:
        for each in as_json(statistics):
            print_json(each)
        return
    print(FORMATS[flags.format](statistics))
    if flags.power:
        lines = power_of(statistics) or ["--power: it takes a second group to tell the first one from"]
        for line in lines:
            print(line) if flags.format == "text" else note(line)
