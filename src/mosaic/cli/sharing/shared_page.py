"""`mosaic export RUN… page.html`: what the runs scored, how they learnt, what they look like and with which settings.

Runs of one submit over seeds are a group; its numbers are those of `mosaic stats`: the interquartile mean with its
interval from five runs on, and below that every run by itself.
"""

import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from mosaic import __version__
from mosaic.cli.daemon.connection import BadArguments
from mosaic.cli.sharing import curve_chart, page_pictures, page_settings
from mosaic.cli.sharing.curve_chart import SeedPoints, curve_of, swatch
from mosaic.cli.sharing.html_page import document, table, table_of, text
from mosaic.cli.sharing.page_groups import PageGroup, groups_of
from mosaic.cli.terminal.printing import note, print_json
from mosaic.cli.terminal.readable import plural, size
from mosaic.errors import HomeUnusable
from mosaic.near_names import did_you_mean
from mosaic.rpc.client import Client
from mosaic.run_table import run_differences
from mosaic.run_table.run_columns import FACTS, RETURN, shown_value
from mosaic.run_table.run_differences import RunFacts
from mosaic.spec.files.shared_files import write_atomically
from mosaic.spec.return_tags import is_return
from mosaic.spec.run_record import RunRecord, damage_of
from mosaic.spec.states import RunState
from mosaic.statistics import aggregates, stratified_bootstrap
from mosaic.statistics.enough_seeds import FEWEST, remark
from mosaic.statistics.sample_efficiency import WINDOW

MOST_CHARTS = 9
EPISODES = run_differences.EPISODES
CSS = curve_chart.CSS + page_pictures.CSS + page_settings.CSS


def write(client: Client, runs: Sequence[RunRecord], path: Path, *, title: str, tags: Sequence[str], json: bool) -> int:
    facts = run_differences.read(client, runs)
    groups = groups_of(facts)
    heading = title or (groups[0].name if len(groups) == 1 else plural(len(runs), "run"))
    chosen, more = _tags(client, runs, tags)
    pictures = page_pictures.pictures_of(client, runs)
    remarks = [*_remarks(facts, groups, more), *pictures.left_out]
    charts, gaps = _charts(client, groups, chosen)
    body = "".join(
        [
            f"<h1>{text(heading)}</h1><p class='faint'>{plural(len(runs), 'run')}; made on"
            f" {datetime.now().astimezone():%Y-%m-%d %H:%M} by MOSAIC {text(__version__)}</p>",
            _results(groups),
            charts,
            pictures.html,
            page_settings.settings(groups),
            _runs(facts),
            "<h2>What to know of these numbers</h2><ul>",
            *(f"<li>{text(line)}</li>" for line in [*remarks, *gaps]),
            "</ul>",
        ]
    )
    try:
        write_atomically(path, document(heading, body, css=CSS))
    except OSError as error:
        raise HomeUnusable(f"{path} could not be written: {error.strerror}; name another place") from error
    written = path.stat().st_size
    if json:
        print_json({"out": str(path), "run_ids": [run.run_id for run in runs], "bytes": written, "metrics": chosen})
    else:
        print(f"{path}: {plural(len(runs), 'run')}, {size(written)}; open it in any browser")
    for line in pictures.left_out:
        note(line)
    return 0


def _tags(client: Client, runs: Sequence[RunRecord], asked: Sequence[str]) -> tuple[list[str], int]:
    """The metrics that are drawn, the return first and then those that most runs have; how many are left."""
    logged = Counter(tag for run in runs for tag in client.tags(run.run_id))
    for tag in asked:
        if tag not in logged:
            near = did_you_mean(tag, logged) or "'mosaic metrics RUN' lists the tags"
            raise BadArguments(f"mosaic export: --metrics: none of these runs has logged '{tag}'; {near}")
    if asked:
        return list(asked), 0

    def order(tag: str) -> tuple[bool, bool, int, str]:
        return tag != RETURN, not is_return(tag), -logged[tag], tag

    found = sorted(logged, key=order)
    return found[:MOST_CHARTS], len(found) - len(found[:MOST_CHARTS])


def _charts(client: Client, groups: Sequence[PageGroup], tags: Sequence[str]) -> tuple[str, list[str]]:
    drawn: list[str] = []
    gaps: list[str] = []
    for tag in tags:
        curves: list[curve_chart.GroupCurve] = []
        for place, group in enumerate(groups):
            points = [found for run in group.runs if (found := _points(client, run.record, tag, gaps))]
            if points:
                curves.append(curve_of(place, points))
        made = curve_chart.chart(tag, curves) if curves else ""
        if made:
            drawn.append(f"<figure><figcaption>{text(tag)}</figcaption>{made}</figure>")
    if not drawn:
        return "<h2>Curves</h2><p class='faint'>These runs have logged no metric.</p>", gaps
    entries = "".join(f"<li>{swatch(place)}{text(_counted(group))}</li>" for place, group in enumerate(groups))
    about = (
        f"Each value is the mean of at most {WINDOW} values of its run. Of a group: interquartile mean of its runs and"
        f" its 95 % interval at each step; below {FEWEST} runs every run, thin, and no interval."
    )
    legend = f"<ul class='legend'>{entries}</ul><p class='faint'>{about}</p>"
    return f"<h2>Curves</h2>{legend}<div class='charts'>{''.join(drawn)}</div>", gaps


def _counted(group: PageGroup) -> str:
    said = remark(len(group.runs), "run")
    return f"{group.name} (n = {len(group.runs)}{f', {said}' if said and len(group.runs) > 1 else ''})"


def _points(client: Client, run: RunRecord, tag: str, gaps: list[str]) -> SeedPoints | None:
    found = client.metrics(run.run_id, tags=[tag]).get(tag)
    if found is None:
        return None
    steps, values = np.array(found.steps, dtype=np.float64), np.array(found.values, dtype=np.float64)
    order = np.argsort(steps, kind="stable")
    steps, values = steps[order], values[order]
    finite = np.isfinite(values)
    if missing := int((~finite).sum()):
        gaps.append(
            f"{run.label or run.run_id}: {missing:,} of {len(values):,} values of {tag} are not finite: not drawn"
        )
    return SeedPoints(steps[finite], values[finite]) if finite.any() else None


def _results(groups: Sequence[PageGroup]) -> str:
    names = (
        "",
        "what",
        "algorithm",
        "environment",
        "n",
        "states",
        "steps",
        "return, IQM [95 %]",
        "best return of a run",
    )
    rows: list[list[str]] = []
    for place, group in enumerate(groups):
        records = [run.record for run in group.runs]
        steps = sorted({record.global_step for record in records})
        reach = f"{steps[0]:,}" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,}"
        best = [record.best_return for record in records if record.best_return is not None]
        cells = [
            group.name,
            ", ".join(dict.fromkeys(record.algo for record in records)),
            ", ".join(dict.fromkeys(record.env_id for record in records)),
            _n(records),
            _states(records),
            reach,
            _iqm(records),
            shown_value("best", max(best)) if best else "–",
        ]
        rows.append([swatch(place), *map(text, cells)])
    return f"<h2>Results</h2>{table_of(names, rows, right=names[4:5] + names[6:])}"


def _returns(records: Sequence[RunRecord]) -> list[float]:
    return [one.last_return for one in records if one.last_return is not None and math.isfinite(one.last_return)]


def _n(records: Sequence[RunRecord]) -> str:
    with_return = len(_returns(records))
    return str(len(records)) if with_return == len(records) else f"{with_return} of {len(records)}"


def _iqm(records: Sequence[RunRecord]) -> str:
    returns = _returns(records)
    if not returns:
        return "–"
    if len(records) == 1:
        return shown_value("return", returns[0])
    spec = ".1f" if max(map(abs, returns)) >= 10 else ".3g"
    return stratified_bootstrap.interval([np.array(returns)], aggregates.iqm).text(len(returns), spec)


def _states(records: Sequence[RunRecord]) -> str:
    counted = Counter(record.state.value for record in records)
    return next(iter(counted)) if len(records) == 1 else ", ".join(f"{many} {state}" for state, many in counted.items())


def _runs(facts: Sequence[RunFacts]) -> str:
    names = (
        "run",
        "name",
        "state",
        "seed",
        "steps",
        "return",
        "episodes in it",
        "best return",
        "time",
        "submitted",
        "tags",
    )
    rows: list[list[str]] = []
    for one in facts:
        record = one.record
        episodes = min(EPISODES, one.returns.points) if one.returns else 0
        state = f"{record.state}: {record.reason}" if record.reason and record.state != "finished" else record.state
        cells = [record.run_id, record.label, state, str(record.seed), f"{record.global_step:,}"]
        cells += [shown_value("return", record.last_return) or "–", str(episodes) if episodes else "–"]
        cells += [shown_value(name, FACTS[name].value(record)) or "–" for name in ("best", "time", "started", "tags")]
        rows.append(cells)
    right = ("seed", "steps", "return", "episodes in it", "best return", "time")
    return f"<h2>Runs</h2>{table(names, rows, right=right)}"


def _remarks(facts: Sequence[RunFacts], groups: Sequence[PageGroup], more: int) -> list[str]:
    said = [f"The return of a run is the mean of its last {EPISODES} episodes, or of as many as it has."]
    if any(1 < len(group.runs) < 10 for group in groups):
        said.append(
            f"Below {FEWEST} runs there is no interval. With 5 to 9 (“rough”) what is called 95 % may hold in 90 of 100"
            " experiments, and in fewer where some runs fail."
        )
    early = [one.record for one in facts if one.record.state is not RunState.FINISHED]
    if early:
        counted = ", ".join(f"{many} {state}" for state, many in Counter(run.state.value for run in early).items())
        said.append(f"{plural(len(early), 'run')} had not finished ({counted}): counted as far as they were.")
    for group in groups:
        steps = [run.record.global_step for run in group.runs]
        if len(steps) > 1 and max(steps) > 1.05 * min(steps):
            said.append(f"{group.name}: its runs made between {min(steps):,} and {max(steps):,} steps.")
    if more:
        said.append(f"{plural(more, 'further metric')} of these runs are not drawn; 'mosaic export --metrics' chooses.")
    for one in facts:
        said += [f"{one.record.label or one.record.run_id}: {line}" for line in damage_of(one.record)]
    return said
