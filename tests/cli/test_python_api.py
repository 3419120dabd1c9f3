"""The Python client: the program of docs/python-api.md and the example, run as they are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import mosaic as package
from mosaic.errors import RunNotFound
from mosaic.rpc.client import Client, Refused

ROOT = Path(__file__).parents[2]


def test_the_documented_program_runs(mosaic):
    [program] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python-api.md").read_text(), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "seed 1: finished, 1,536 steps" in done.stdout
    assert "policy runs/CartPole-v1__ppo__1__" in done.stdout


def test_the_example_over_seeds_runs(mosaic):
    words = ["ppo", "CartPole-v1", "--steps", "600", "--seeds", "2"]
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "seeds.py", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "over 2 seeds" in done.stdout


def test_every_method_is_documented():
    text = (ROOT / "docs" / "python-api.md").read_text()
    public = [name for name in vars(Client) if not name.startswith("_")]
    undocumented = [name for name in public if f"`{name}" not in text]
    assert undocumented == []


def test_unknown_names_of_the_package():
    assert package.Client is Client
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = package.Nothing  # type: ignore[attr-defined]


def test_refusals_carry_the_reason(mosaic):
    with Client() as client:
        with pytest.raises(Refused, match="did you mean ppo"):
            client.train("pppo", env_id="CartPole-v1", total_timesteps=600)
        with pytest.raises((Refused, RunNotFound)):
            client.get("01M7FHQSYWX90EQVV8XYM8P8GC")


def test_waiting_for_an_ended_run_returns_at_once(mosaic, finished):
    with Client() as client:
        assert client.wait(finished)[0].run_id == finished
