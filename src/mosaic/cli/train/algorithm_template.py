"""The text of a new algorithm of a user: a copy of one of ours under another name, and a test for it."""

import ast
import importlib.util
import re
from pathlib import Path

_TEST = '''"""{name} learns from experience, its policy acts, and it goes on exactly from a checkpoint.

Run it with `pytest test_{name}.py`. The worker trains in processes of its own, in a temporary home.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ALGORITHM = Path(__file__).with_name("{name}.py")
STEPS = {steps}
SETTINGS = {settings}


def worker(module: str, *words: str) -> None:
    done = subprocess.run([sys.executable, "-P", "-m", module, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a short run with a checkpoint in the middle."""
    home = tmp_path_factory.mktemp("home")
    os.environ["MOSAIC_HOME"] = str(home)
    when = ["--checkpoint-interval-s=0", f"--checkpoint-interval-steps={{STEPS // 2}}", "--checkpoints-kept=100"]
    what = ["--algo", str(ALGORITHM), f"--total-timesteps={{STEPS}}", "--no-tensorboard", "--quiet"]
    worker("cleanrl_worker.cli", *what, *when, *SETTINGS)
    [found] = (home / "trainer" / "runs").iterdir()
    return found


def policy(run: Path) -> Path:
    [found] = run.glob("runs/*/{name}.cleanrl_model")
    return found


def test_it_trains_and_its_policy_acts(run: Path) -> None:
    words = ["--policy-path", str(policy(run)), "--algo", str(ALGORITHM), "--episodes=2", "--no-tensorboard"]
    worker("cleanrl_worker.evaluate", *words)


def test_it_goes_on_exactly_from_a_checkpoint(run: Path) -> None:
    straight = policy(run).read_bytes()
    first = min(run.glob("checkpoints/step-*"), key=lambda folder: int(folder.name.removeprefix("step-")))
    assert first.name != f"step-{{STEPS}}"
    worker("cleanrl_worker.cli", "--algo", str(ALGORITHM), "--resume", str(first), "--discard-newer", "--quiet")
    assert policy(run).read_bytes() == straight
'''


def source(name: str, base: str) -> str:
    """The file of `base` as a file of its own."""
    text = _text(base)
    summary = (ast.get_docstring(ast.parse(text)) or base).partition("\n")[0].partition(" (docs/")[0].rstrip(".")
    first = f'"""{name}, begun as a copy of {base}: {summary}."""'
    body = re.sub(r'\A"""(?:.|\n)*?"""', lambda _: first, text, count=1)
    return re.sub(rf"main\(([\"']){re.escape(base)}\1\)", "main(__file__)", body)


def test(name: str, base: str) -> str:
    """Short, but beyond the first update of its networks."""
    fields = set(re.findall(r"(?m)^    (\w+): ", _text(base)))
    if "buffer_size" in fields:
        steps, settings = 600, ["--learning-starts=100", "--buffer-size=500", "--batch-size=16"]
    else:
        steps, settings = 1024, ["--num-envs=2", *(["--num-steps=32"] if "num_steps" in fields else [])]
    settings += ["--no-cuda"] if "cuda" in fields else []
    return _TEST.format(name=name, steps=steps, settings=settings)


def _text(base: str) -> str:
    found = importlib.util.find_spec("cleanrl_worker")
    [place] = (found.submodule_search_locations or []) if found else []
    return (Path(place) / "algorithms" / f"{base}.py").read_text(encoding="utf-8")
