"""Tools that start and end things; the server has them with `--allow-control` only.

A file is not started by its path, nor a script: which code may run is decided by who owns the daemon, in the terminal.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from mcp.server.mcpserver.exceptions import ToolError

from mosaic.assistant.command import LONG_S, flags, named, typed
from mosaic.near_names import near_names

Setting: TypeAlias = str | int | float | bool | None


async def check_run(
    algorithm: str,
    env_id: str,
    total_timesteps: int,
    settings: Mapping[str, Setting] | None = None,
    env_settings: Mapping[str, Setting] | None = None,
    preset: str = "",
) -> str:
    """Try a config in a real worker, as `start_run` would begin it; nothing is left behind."""
    words = await _training(algorithm, env_id, total_timesteps, settings, env_settings)
    return await typed("train", *words, *flags(preset=preset), "--dry-run", "--json", limit_s=LONG_S)


async def start_run(
    algorithm: str,
    env_id: str,
    total_timesteps: int,
    seeds: str = "1",
    settings: Mapping[str, Setting] | None = None,
    env_settings: Mapping[str, Setting] | None = None,
    preset: str = "",
    label: str = "",
    tags: Sequence[str] = (),
) -> str:
    """Put a training run into the queue, or one for each seed (`1-5`, `1,2,7`); returns the runs at once.

    `settings` are those of the algorithm, `env_settings` those of the environment, by their names.
    """
    words = await _training(algorithm, env_id, total_timesteps, settings, env_settings)
    said = flags(seeds=seeds, preset=preset, label=label, tag=",".join(tags))
    return await typed("train", *words, *said, "--detach", "--json", limit_s=LONG_S)


async def cancel_runs(runs: Sequence[str]) -> str:
    """End runs; each saves a checkpoint first, from which `resume_run` goes on exactly."""
    return await typed("cancel", "--json", *named(*runs))


async def resume_run(run: str) -> str:
    """Go on with an ended run from its newest checkpoint."""
    return await typed("resume", "--json", *named(run))


async def evaluate(runs: Sequence[str], episodes: int = 50) -> str:
    """Play episodes with the policies of runs, all on the same ones, and tell what they score."""
    return await typed("evaluate", "--json", f"--episodes={episodes}", *named(*runs), limit_s=LONG_S)


async def start_sweep(
    algorithm: str,
    env_id: str,
    total_timesteps: int,
    trials: int = 20,
    space: Sequence[str] = (),
    settings: Mapping[str, Setting] | None = None,
    env_settings: Mapping[str, Setting] | None = None,
) -> str:
    """Look for good settings: try many, then confirm the best with fresh seeds; returns the sweep at once.

    `space` is what is tried, such as `learning_rate=log:1e-5..1e-2` and `num_envs=4,8,16`; without it, the algorithm's.
    """
    words = await _training(algorithm, env_id, total_timesteps, settings, env_settings)
    tried = ("--space", *named(*space)) if space else ()
    return await typed("sweep", *words, f"--trials={trials}", *tried, "--detach", "--json", limit_s=LONG_S)


async def cancel_sweep(sweep: str) -> str:
    """End a sweep and its runs."""
    return await typed("sweep", "cancel", *named(sweep))


async def _training(
    algorithm: str,
    env_id: str,
    total_timesteps: int,
    settings: Mapping[str, Setting] | None,
    env_settings: Mapping[str, Setting] | None,
) -> Sequence[str]:
    """The words of `mosaic train` and `mosaic sweep` for what is trained."""
    for text in (algorithm, env_id):
        if ".py" in text:
            raise ToolError(f"'{text}' is a file: 'mosaic algos add' and 'mosaic envs add' make it known by its name")
    [listed] = (await typed("algos", "--json", *named(algorithm))).splitlines()
    names: Mapping[str, object] = json.loads(listed)["schema"]["properties"]
    words = [algorithm, f"--env-id={env_id}", f"--total-timesteps={total_timesteps}"]
    for name, value in (settings or {}).items():
        if name not in names:
            near = ", ".join(near_names(name, names)) or "'algorithm' tells which there are"
            raise ToolError(f"{algorithm} has no setting '{name}': {near}")
        flag = name.replace("_", "-")
        words.append(f"--{'' if value else 'no-'}{flag}" if isinstance(value, bool) else f"--{flag}={value}")
    for name, value in (env_settings or {}).items():
        if not name.isidentifier():
            raise ToolError(f"'{name}' is not the name of a setting")
        words.append(f"--env.{name}={json.dumps(value) if isinstance(value, bool) else value}")
    return words


TOOLS = (check_run, start_run, cancel_runs, resume_run, evaluate, start_sweep, cancel_sweep)
