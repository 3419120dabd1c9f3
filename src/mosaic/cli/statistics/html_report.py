"""`mosaic stats --report FILE`: tables and figures as one HTML file, which asks nothing of the network.

Figures are SVG inside the page, once for a light and once for a dark ground; the reader's system chooses.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic import __version__
from mosaic.cli.sharing.html_page import document, table
from mosaic.cli.statistics.figure_style import STYLES, svg
from mosaic.cli.statistics.group_statistics import Statistics
from mosaic.cli.statistics.stats_figures import figures_of
from mosaic.cli.statistics.table_formats import Table, power_of, remarks_of, tables_of
from mosaic.errors import HomeUnusable
from mosaic.spec.files.shared_files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
CAPTIONS = {
    "curves": "Interquartile mean of the seeds and its 95 % interval at each step; below five seeds every seed.",
    "scores": "Score of each run as a dot; the line is the interquartile mean, the bar its 95 % interval.",
    "profiles": "Share of the runs that score more than τ, with a 95 % interval at each τ; higher is better.",
    "improvement": "Probability that a run of the group scores more than a run of the first group, with its interval.",
    "overall": "Over all environments, normalised: 0 is random, 1 the reference. Of the gap less is better.",
}
CSS = """
.on-dark { display: none; }
@media (prefers-color-scheme: dark) { .on-dark { display: block; } .on-light { display: none; } }
"""


def write_report(path: Path, found: Statistics, notes: Sequence[str], *, command: str) -> None:
    figures = {ground: figures_of(found, ground) for ground in STYLES}
    parts = [_head(found, command)]
    parts += [f"<h2>{escape(one.title)}</h2>{_table(one)}" for one in tables_of(found)]
    said = [*remarks_of(found), *notes, *power_of(found)]
    if said:
        parts.append("<h2>What to know of these numbers</h2><ul>")
        parts += [f"<li>{escape(line)}</li>" for line in said]
        parts.append("</ul>")
    parts.append("<h2>Figures</h2>")
    for name, caption in CAPTIONS.items():
        drawn = {ground: made[name] for ground, made in figures.items() if name in made}
        if drawn:
            inside = "".join(_drawn(ground, figure, name) for ground, figure in drawn.items())
            parts.append(f"<figure>{inside}<figcaption>{escape(caption)}</figcaption></figure>")
    parts += [_references(found), _runs(found)]
    # matplotlib's drawings carry their styles in attributes.
    page = document(", ".join(found.names), "".join(parts), css=CSS, styles_inside=True)
    try:
        write_atomically(path, page)
    except OSError as error:
        raise HomeUnusable(f"{path} could not be written: {error.strerror}; name another place") from error


def _head(found: Statistics, command: str) -> str:
    when = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")
    runs = sum(line.n for line in found.lines)
    return (
        f"<h1>{escape(', '.join(found.names))}</h1><p class='faint'>{runs} runs; made on {when} by MOSAIC {__version__}"
        f" with<br><code>{escape(command)}</code></p>"
    )


def _table(made: Table) -> str:
    return table(made.names, made.rows, right=made.right)


def _drawn(ground: str, figure: "Figure", name: str) -> str:
    """Without the lines before the picture; with ids of its own, for a page has one name space."""
    text = svg(figure)
    text = _METADATA.sub("", text[text.index("<svg") :])
    for before in ('id="', 'href="#', "url(#"):
        text = text.replace(before, f"{before}{name}-{ground}-")
    return f"<div class='on-{ground}'>{text}</div>"


def _references(found: Statistics) -> str:
    rows = [
        [env_id, f"{one.random:g}", one.random_from, f"{one.reference:g}", one.reference_from]
        for env_id, one in found.references.items()
    ]
    if not rows:
        return ""
    names = ("environment", "0 is", "from", "1 is", "from ")
    return f"<h2>Reference scores</h2>{_table(Table('', names, rows, right=('0 is', '1 is')))}"


def _runs(found: Statistics) -> str:
    rows = [
        [
            line.group.name,
            line.group.env_id,
            run.record.run_id,
            run.record.label,
            str(run.record.seed),
            f"{run.score:.6g}",
        ]
        for line in found.lines
        for run in line.group.runs
    ]
    names = ("group", "environment", "run", "label", "seed", "score")
    return f"<h2>Runs</h2>{_table(Table('', names, rows, right=('seed', 'score')))}"
