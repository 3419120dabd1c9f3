"""Tools that look: they change nothing."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from mcp.server.mcpserver import Image
from mcp.server.mcpserver.exceptions import ToolError

from mosaic.assistant.command import flags, named, shortened, typed
from mosaic.near_names import near_names
from mosaic.spec.catalogue import documentation


async def list_runs(fitting: str = "", sort: str = "", group: str = "", columns: str = "", limit: int = 30) -> str:
    """List training runs and evaluations, newest first, one JSON object a line.

    `fitting` is an expression such as `algo:ppo lr<1e-3 return>200 tag:paper state:running`; `sort` a column, the
    lowest first; `group` columns in which the runs of a group are alike, for statistics of each group; `columns`
    further settings or metrics (`charts/SPS.last`); `limit` 0 is all.
    """
    return await typed(
        "runs", "--json", *flags(filter=fitting, sort=sort, group=group, columns=columns), f"--limit={limit}"
    )


async def show_run(run: str) -> str:
    """Everything about a run: state and why it ended, progress, settings, warnings, damage, files, what to do next."""
    return await typed("show", "--json", *named(run))


async def compare_runs(runs: Sequence[str], everything: bool = False) -> str:
    """What differs between runs: settings, environment, code, versions, results. `everything` also tells the rest."""
    return await typed("diff", "--json", *flags(all=everything), *named(*runs))


async def metrics(run: str, tags: Sequence[str] = (), points: int = 50) -> str:
    """The numbers that a run logged, thinned to `points` of each tag; without tags, all that there are."""
    return await typed("metrics", "--json", *flags(tags=",".join(tags)), f"--points={points}", *named(run))


async def read_log(run: str, lines: int = 100, stderr: bool = False) -> str:
    """The last lines that a run printed; `stderr` for its errors."""
    return await typed("logs", f"--tail={lines}", *flags(stderr=stderr), *named(run))


async def statistics(groups: Sequence[str], by: str = "", power: bool = False) -> str:
    """Scores of groups of runs over their seeds: IQM, mean, intervals where the seeds allow them, comparisons.

    A group is its id, a run of it, a label, an algorithm or an environment; `by` (`algo`, `env`, `algo,env`) puts all
    named runs into groups; `power` says how many more seeds it takes to tell the groups apart.
    """
    return await typed("stats", "--json", *flags(by=by, power=power), *named(*groups))


async def plot(groups: Sequence[str], by: str = "") -> Image:
    """A picture of the learning curves of groups of runs, with bands where the seeds allow them."""
    with tempfile.TemporaryDirectory() as folder:
        await typed("stats", *flags(by=by, figures=folder), *named(*groups))
        picture = Path(folder, "curves.png")
        if not picture.exists():
            raise ToolError("these runs have no curves")
        return Image(data=picture.read_bytes(), format="png")


async def list_algorithms() -> str:
    """The algorithms, a line each; `algorithm` tells all of one."""
    return await typed("algos")


async def algorithm(name: str) -> str:
    """The page of an algorithm: when to use it, its settings with their defaults, its metrics, results."""
    return await typed("algos", *named(name))


async def list_environments(text: str = "") -> str:
    """The families of environments; with a family or a part of an id, those; with an id, its settings and spaces."""
    return await typed("envs", *(named(text) if text else ()))


async def list_presets(text: str = "") -> str:
    """Settings under a name, of an algorithm in an environment, with where they came from and what they scored here."""
    return await typed("presets", "--json", *(named(*text.split()) if text.strip() else ()))


async def list_policies() -> str:
    """The policies that runs have saved."""
    return await typed("policies", "--json")


async def list_sweeps() -> str:
    """Searches for good settings, newest first."""
    return await typed("sweeps", "--json")


async def show_sweep(sweep: str) -> str:
    """The trials of a sweep, what matters among the settings, and what fresh seeds confirm."""
    return await typed("sweep", "show", "--json", *named(sweep))


async def list_alerts(limit: int = 20) -> str:
    """The newest alerts: runs that failed, collapsed, made no progress or ended."""
    return await typed("alerts", "--json", f"--limit={limit}")


def read_documentation(page: str = "") -> str:
    """The page of the documentation that says in which order to read, or another one by its name (`sweeps.md`)."""
    known = {found.name: found for found in documentation.pages()}
    name = page or documentation.FIRST
    name = name if name.endswith(".md") else f"{name}.md"
    if name not in known:
        near = near_names(name, known) or sorted(known)
        raise ToolError(f"there is no page '{page}'; there are {', '.join(near)}")
    return shortened(known[name].path.read_text(encoding="utf-8"))


TOOLS = (
    list_runs,
    show_run,
    compare_runs,
    metrics,
    read_log,
    statistics,
    plot,
    list_algorithms,
    algorithm,
    list_environments,
    list_presets,
    list_policies,
    list_sweeps,
    show_sweep,
    list_alerts,
    read_documentation,
)
