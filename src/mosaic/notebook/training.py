"""The functions behind `mosaic.train`, `mosaic.run`, `mosaic.runs` and `mosaic.connect`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import overload

from mosaic.config import JsonValue
from mosaic.notebook.run_handle import Run
from mosaic.notebook.run_sequence import Runs
from mosaic.rpc.client import Client
from mosaic.rpc.find_run import ANY, TRAINING, Need, find_run

_clients: list[Client] = []
"""The one that the functions here use; none before the first of them."""


def connect(target: str | None = None, *, certificate: Path | None = None) -> Client:
    """Use the daemon of this home, or one elsewhere (`host:port`), from here on; its `Client`."""
    client = Client(target, certificate=certificate)
    while _clients:
        _clients.pop().close()
    _clients.append(client)
    return client


@overload
def train(
    algo: str,
    *,
    env_id: str,
    total_timesteps: int | None = None,
    seed: int = 1,
    seeds: None = None,
    label: str = "",
    tags: Sequence[str] = (),
    preset: str = "",
    env_settings: Mapping[str, JsonValue] | None = None,
    wrappers: Sequence[str] | None = None,
    **settings: JsonValue,
) -> Run: ...
@overload
def train(
    algo: str,
    *,
    env_id: str,
    total_timesteps: int | None = None,
    seed: int = 1,
    seeds: Sequence[int],
    label: str = "",
    tags: Sequence[str] = (),
    preset: str = "",
    env_settings: Mapping[str, JsonValue] | None = None,
    wrappers: Sequence[str] | None = None,
    **settings: JsonValue,
) -> Runs: ...
def train(
    algo: str,
    *,
    env_id: str,
    total_timesteps: int | None = None,
    seed: int = 1,
    seeds: Sequence[int] | None = None,
    label: str = "",
    tags: Sequence[str] = (),
    preset: str = "",
    env_settings: Mapping[str, JsonValue] | None = None,
    wrappers: Sequence[str] | None = None,
    **settings: JsonValue,
) -> Run | Runs:
    """Begin a training run, or with `seeds` one for each of them, and return at once.

    `settings` are those of the algorithm that differ from its defaults, or from the preset (`mosaic algos ppo` lists
    them), `env_settings` those of the environment, `wrappers` words as `--wrap` takes them.
    """
    client = _client()
    records = client.train(
        algo,
        env_id=env_id,
        total_timesteps=total_timesteps,
        seeds=(seed,) if seeds is None else list(seeds),
        label=label,
        tags=tags,
        settings=settings,
        preset=preset,
        env_settings=env_settings,
        wrappers=wrappers,
    )
    runs = Runs(client, [record.run_id for record in records])
    return runs[0] if seeds is None else runs


def run(name: str = "@last") -> Run:
    """A run by its id, the beginning or end of it, its label, or @last: the newest training."""
    client = _client()
    need: Need = TRAINING if name.startswith("@last") else ANY
    return Run(client, find_run(client, name, need).run_id)


def runs(*, states: Sequence[str] = (), kinds: Sequence[str] = ("train",), text: str = "", limit: int = 100) -> Runs:
    """Runs, newest first: trainings unless `kinds` names others; `limit=0` is all."""
    client = _client()
    found = client.list(states=states, kinds=kinds, text=text, limit=limit)
    return Runs(client, [record.run_id for record in found])


def _client() -> Client:
    return _clients[0] if _clients else connect()
