"""Copies of an algorithm's file with an edit in them, and what a short training of one ends with."""

import importlib.util
import itertools
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from cleanrl_worker import algorithms
from cleanrl_worker.sdk.run import Run, RunSpec
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.run_dir import RunDir, new_run_id

FOLDER = Path(next(iter(algorithms.__path__)))
NAMES = itertools.count()


@dataclass(frozen=True)
class Trained:
    """What a training of a file ended with."""

    weights: np.ndarray
    warnings: list[str]
    logged: dict[str, list[float]]

    def distance(self, other: "Trained") -> float:
        if self.weights.shape != other.weights.shape:
            return np.inf
        return float(np.linalg.norm(self.weights - other.weights))

    def follows(self, expected: "Trained", *, rather_than: "Trained") -> bool:
        """Whether the weights are those that are expected, up to rounding."""
        rounding = 1e-6 * float(np.linalg.norm(self.weights))
        return self.distance(expected) <= 0.1 * self.distance(rather_than) + rounding


class Noted(Run):
    """A run that keeps what it says and what it ends with."""

    weights: np.ndarray
    warnings: list[str]
    logged: dict[str, list[float]]

    def __init__(self, spec: RunSpec) -> None:
        self.warnings, self.logged = [], {}
        super().__init__(spec)

    def warn(self, message: str) -> None:
        self.warnings.append(message)

    def scalars(self, values: Any) -> None:
        for name, value in values.items():
            self.logged.setdefault(name, []).append(float(value))
        super().scalars(values)

    def checkpoint(self, *args: Any, **options: Any) -> None:
        """None is written: these runs are never resumed."""

    def save_policy(self, agent: torch.nn.Module, **normalisers: Any) -> None:
        self.weights = np.concatenate([part.detach().numpy().ravel() for part in agent.parameters()])


def edited(algo: str, folder: Path, *changes: tuple[str, str]) -> ModuleType:
    text = (FOLDER / f"{algo}.py").read_text()
    for old, new in changes:
        assert old in text, f"{algo}.py has no {old!r} any more"
        text = text.replace(old, new)
    path = folder / f"{algo}.py"
    path.write_text(text)
    name = f"edited_{algo}_{next(NAMES)}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def trained(module: Any, algo: str, folder: Path, settings: dict[str, Any]) -> Trained:
    args = module.Args(cuda=False, **settings)
    run_dir = RunDir(folder / new_run_id())
    run_dir.create()
    spec = RunSpec(
        run_dir=run_dir,
        algo=algo,
        args=asdict(args),
        options=TrainOptions(fastlane_enabled=False),
        tensorboard=False,
        quiet=True,
    )
    with Noted(spec) as run:
        module.train(run, args)
    return Trained(run.weights, run.warnings, run.logged)


def without_fast_path(module: Any) -> Any:
    module.guarded = lambda run, plain, fast: plain
    return module
