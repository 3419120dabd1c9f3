"""Statistics as tables: for a terminal, Markdown, LaTeX and CSV. No number stands without its n."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mosaic.cli.statistics.group_statistics import Line, Statistics
from mosaic.cli.terminal.printing import clean, table
from mosaic.cli.terminal.readable import count
from mosaic.statistics.enough_seeds import FEWEST, remark
from mosaic.statistics.intervals import Interval
from mosaic.statistics.seeds_needed import MOST

NONE = "–"


@dataclass(frozen=True)
class Table:
    title: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str] = ()


def tables_of(found: Statistics) -> list[Table]:
    made = [_scores(found)]
    if found.overall:
        made.append(_overall(found))
    if any(line.area for line in found.lines):
        made.append(_efficiency(found))
    return made


def remarks_of(found: Statistics) -> list[str]:
    """What a reader must know of the numbers: every seed of small groups, and why they have no interval."""
    said: list[str] = []
    for line in found.lines:
        if line.n < FEWEST:
            scores = ", ".join(format(score, spec_of(found, line)) for score in sorted(line.group.scores.tolist()))
            place = f"{line.group.name} in {line.group.env_id}"
            said.append(
                f"{place}, n = {line.n}: every seed {scores}; {remark(line.n)}, it would hold far less than 95 %"
            )
    if any(remark(line.n) == "rough" for line in found.lines):
        said.append(
            "rough: with 5 to 9 seeds, 95 % may hold in 90 of 100 experiments, and in fewer where some seeds fail"
        )
    return said


def power_of(found: Statistics) -> list[str]:
    """How many more seeds it takes to tell each group from the first."""
    first = found.names[0]
    said: list[str] = []
    for line in found.lines:
        if line.group.name == first:
            continue
        place = f"{line.group.name} and {first} in {line.group.env_id}"
        against = found.first_in(line.group.env_id)
        if against is None:
            said.append(f"{place}: {first} has no run there")
        elif line.needed is None:
            said.append(f"{place}: a spread needs at least two runs each (n = {line.n} and {against.n})")
        elif line.needed.each is None or line.needed.more is None:
            said.append(
                f"{place}: more than {MOST:,} seeds each, they differ by {line.needed.effect:.3g} standard deviations"
                f" (n = {line.n} and {against.n})"
            )
        else:
            more, more_of_first = line.needed.more
            todo = (
                f"{more} more of {line.group.name}, {more_of_first} more of {first}"
                if more or more_of_first
                else "as many as there are"
            )
            said.append(
                f"{place}: they differ by {line.needed.effect:.2f} standard deviations; telling that apart takes"
                f" {line.needed.each} seeds each: {todo} (n = {line.n} and {against.n}"
                f"{', so the estimate is itself rough' if min(line.n, against.n) < 10 else ''})"
            )
    return said


def spec_of(found: Statistics, line: Line) -> str:
    """Digits that tell scores of one environment apart."""
    largest = max(float(np.abs(one.group.scores).max()) for one in found.lines if one.group.env_id == line.group.env_id)
    return ".1f" if largest >= 10 else ".3f"


def _scores(found: Statistics) -> Table:
    first = found.names[0]
    several = len(found.names) > 1
    names = ["group", "environment", "n", "IQM [95 %]", "mean [95 %]", "std", "lowest", "highest"]
    names += [f"P(more than {first}) [95 %]"] if several else []
    rows: list[list[str]] = []
    for line in found.lines:
        spec, scores = spec_of(found, line), line.group.scores
        row = [
            line.group.name,
            line.group.env_id,
            str(line.n),
            line.iqm.text(line.n, spec),
            line.mean.text(line.n, spec),
            format(scores.std(ddof=1), spec) if line.n > 1 else NONE,
            format(scores.min(), spec),
            format(scores.max(), spec),
        ]
        rows.append(row + ([_improvement(found, line)] if several else []))
    what = "mean return of the last episodes" if found.lines[0].group.is_training else "mean return of the episodes"
    return Table(f"Score of a run: {what}", names, rows, right=("n", "std", "lowest", "highest"))


def _improvement(found: Statistics, line: Line) -> str:
    against = found.first_in(line.group.env_id)
    if line.improvement is None or against is None:
        return "reference" if line.group.name == found.names[0] else NONE
    return line.improvement.text(min(line.n, against.n), ".2f")


def _overall(found: Statistics) -> Table:
    first = found.overall[0]
    names = ["group", "environments", "n each", "IQM [95 %]", "median [95 %]", "mean [95 %]", "optimality gap [95 %]"]
    names += [f"P(more than {first.name}) [95 %]"] if len(found.overall) > 1 else []
    rows: list[list[str]] = []
    for one in found.overall:
        lengths = {len(task) for task in one.tasks}
        row = [one.name, str(len(one.tasks)), str(one.n) if len(lengths) == 1 else f"{one.n}–{max(lengths)}"]
        row += [each.text(one.n, ".3f") for each in (one.iqm, one.median, one.mean, one.gap)]
        if len(found.overall) > 1:
            row.append(one.improvement.text(min(one.n, first.n), ".2f") if one.improvement else "reference")
        rows.append(row)
    return Table(
        "Over all environments, 0 is random and 1 the reference", names, rows, right=("environments", "n each")
    )


def _efficiency(found: Statistics) -> Table:
    names = ["group", "environment", "n", "steps", "mean return while training [95 %]"]
    names += [f"reached {found.threshold:g}", "median steps to it"] if found.threshold is not None else []
    rows: list[list[str]] = []
    for line in found.lines:
        if line.area is None:
            continue
        row = [line.group.name, line.group.env_id, str(line.n), count(line.group.end)]
        row.append(line.area.text(line.n, spec_of(found, line)))
        if found.threshold is not None:
            row.append(f"{len(line.reached)} of {line.n}")
            # Of those that never arrive the median is not known either.
            known = 2 * len(line.reached) > line.n
            row.append(count(_median_with_the_rest(line)) if known else NONE)
        rows.append(row)
    return Table("Sample efficiency", names, rows, right=("n", "steps"))


def _median_with_the_rest(line: Line) -> float:
    """The median of all runs, where those that never arrived come last."""
    return float(np.sort([*line.reached, *[np.inf] * (line.n - len(line.reached))])[(line.n - 1) // 2])


def text(found: Statistics) -> str:
    blocks: list[str] = []
    for each in tables_of(found):
        rows = [[clean(cell) for cell in row] for row in each.rows]
        blocks.append("\n".join([each.title, *table(list(each.names), rows, right=each.right)]))
    return "\n\n".join([*blocks, "\n".join(remarks_of(found))]).rstrip()


def markdown(found: Statistics) -> str:
    blocks: list[str] = []
    for each in tables_of(found):
        align = ["---:" if name in each.right else "---" for name in each.names]
        lines = [
            "| " + " | ".join(_escaped(cell, "|") for cell in row) + " |" for row in (each.names, align, *each.rows)
        ]
        blocks.append("\n".join([f"**{each.title}**", "", *lines]))
    return "\n\n".join([*blocks, *remarks_of(found)])


def latex(found: Statistics) -> str:
    blocks = ["% \\usepackage{booktabs}"]
    for each in tables_of(found):
        align = "".join("r" if name in each.right else "l" for name in each.names)
        head, *rows = [" & ".join(map(_latex, row)) + r" \\" for row in (each.names, *each.rows)]
        lines = [f"% {each.title}", rf"\begin{{tabular}}{{{align}}}", r"\toprule", head, r"\midrule", *rows]
        blocks.append("\n".join([*lines, r"\bottomrule", r"\end{tabular}"]))
    return "\n\n".join([*blocks, *(f"% {line}" for line in remarks_of(found))])


def csv_text(found: Statistics) -> str:
    """A line for each group and environment, with numbers as they are."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    intervals = ("iqm", "mean", "area", "improvement")
    names = [f"{name}{end}" for name in intervals for end in ("", "_low", "_high")]
    writer.writerow(["group", "environment", "n", "remark", *names, "std", "lowest", "highest", "steps", "scores"])
    for line in found.lines:
        scores = line.group.scores
        numbers = [number for name in intervals for number in _csv_numbers(getattr(line, name))]
        spread = repr(float(scores.std(ddof=1))) if line.n > 1 else ""
        ends = [repr(float(scores.min())), repr(float(scores.max()))]
        steps = f"{line.group.end:.0f}" if line.group.is_training else ""
        each = " ".join(repr(float(score)) for score in scores)
        writer.writerow(
            [line.group.name, line.group.env_id, line.n, remark(line.n), *numbers, spread, *ends, steps, each]
        )
    return out.getvalue().rstrip("\n")


def _csv_numbers(interval: Interval | None) -> list[str]:
    if interval is None:
        return ["", "", ""]
    return ["" if number is None else repr(number) for number in interval.as_json().values()]


def _escaped(cell: str, sign: str) -> str:
    return clean(cell).replace(sign, f"\\{sign}")


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "<": "$<$",
    ">": "$>$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def _latex(cell: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in clean(cell))


FORMATS: Mapping[str, Callable[[Statistics], str]] = {
    "text": text,
    "markdown": markdown,
    "latex": latex,
    "csv": csv_text,
}
