"""An algorithm of an installed package trains, goes on and acts like those of MOSAIC."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cleanrl_worker import cli, describe, evaluate
from cleanrl_worker.sdk.command import own_algorithm
from mosaic.spec.run_dir import Home, new_run_id

EXAMPLE = Path(__file__).parents[2] / "examples" / "random_search.py"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """With a package `their_rl` on the path, as pip would have installed it."""
    site = tmp_path / "site"
    (site / "their_rl").mkdir(parents=True)
    (site / "their_rl" / "__init__.py").write_text("")
    (site / "their_rl" / "search.py").write_text(EXAMPLE.read_text())
    about = site / "their_rl-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-rl\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(
        "[mosaic.algorithms]\ntheir_search = their_rl.search\nwrong = their_rl.no\n"
    )
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(own_algorithm, "_loaded", {})
    yield Home(tmp_path / "home")
    for name in [name for name in sys.modules if name.partition(".")[0] == "their_rl"]:
        del sys.modules[name]


def test_it_is_described_trained_resumed_and_evaluated(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert describe.main(["--algo", "their_search"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["problem"] == ""
    assert found["algorithm"]["schema"]["properties"]["noise"]["default"] == 0.5
    run_dir = home.run(new_run_id())
    small = ["--total-timesteps=400", "--checkpoint-interval-steps=200", "--quiet", "--no-tensorboard"]
    assert cli.main(["--algo", "their_search", *small, "--run-dir", str(run_dir.root)]) == 0
    [policy] = run_dir.root.glob("runs/*/their_search.cleanrl_model")
    straight = policy.read_bytes()
    source = json.loads((run_dir.checkpoint(200) / "state.json").read_text())["source"]
    assert (source["file"], source["package"]) == ("search.py", "their-rl 1.2")
    words = ["--resume", str(run_dir.checkpoint(200)), "--discard-newer", "--quiet", "--total-timesteps=400"]
    assert cli.main(words) == 0
    assert policy.read_bytes() == straight
    assert evaluate.main(["--policy-path", str(policy), "--episodes=1", "--no-tensorboard"]) == 0


def test_a_module_that_is_not_there_is_its_problem(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert describe.main(["--algo", "wrong"]) == 0
    problem = json.loads(capsys.readouterr().out)["problem"]
    assert problem.startswith("the module their_rl.no of their-rl 1.2 cannot be imported: ModuleNotFoundError")
