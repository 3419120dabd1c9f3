"""A policy for the Hub: the folder, its card by the Hub's own parser, and the requests of an upload to a stand-in."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub import EvalResult, ModelCard
from huggingface_hub.utils import validate_repo_id

from mosaic.errors import ConfigError
from mosaic.track import hub_folder
from mosaic.track.hub_folder import Publication

from .hub_stand_in import TOKEN, serving

SUMMARY = {
    "episodes": 50,
    "mean": 490.0,
    "std": 6.096,
    "min": 400.0,
    "max": 500.0,
    "median": 499.0,
    "iqm": 498.5,
    "iqm_low": 497.0,
    "iqm_high": 499.5,
    "mean_length": 490.0,
    "seed": 1,
    "deterministic": False,
}


def publication(**changes: object) -> Publication:
    content: dict[str, object] = {
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "seed": 1,
        "global_step": 1000,
        "args": {"gamma": 0.99, "target_kl": None, "anneal_lr": True, "norm_adv": False},
        "model": b"the model",
        "script": "# the script\n",
        "replay": b"the film",
        "summary": SUMMARY,
        "version": "1.2.3",
    }
    return Publication(**content | changes)  # type: ignore[arg-type]


def test_the_folder_has_the_layout_of_a_cleanrl_repository(tmp_path: Path) -> None:
    names = hub_folder.write(tmp_path / "out", publication())
    assert names == ["ppo.cleanrl_model", "config.json", "ppo.py", "replay.mp4", "README.md"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
    assert json.loads((tmp_path / "out" / "config.json").read_text())["args"]["gamma"] == 0.99
    with pytest.raises(ConfigError, match="is not empty"):
        hub_folder.write(tmp_path / "out", publication())
    without = hub_folder.write(tmp_path / "bare", publication(replay=b"", script=""))
    assert without == ["ppo.cleanrl_model", "config.json", "README.md"]
    assert "replay.mp4" not in (tmp_path / "bare" / "README.md").read_text()


@pytest.mark.parametrize("env_id", ["CartPole-v1", "ALE/Breakout-v5", "weird: 'id' #1\"-v0"])
def test_the_card_is_read_by_the_hubs_own_parser(env_id: str, tmp_path: Path) -> None:
    hub_folder.write(tmp_path, publication(env_id=env_id))
    card = ModelCard.load(tmp_path / "README.md")
    data = card.data.to_dict()
    assert data["tags"] == [
        env_id,
        "deep-reinforcement-learning",
        "reinforcement-learning",
        "custom-implementation",
    ]
    assert data["library_name"] == "cleanrl"
    [result] = card.data.eval_results
    assert isinstance(result, EvalResult)
    assert (result.task_type, result.dataset_name) == ("reinforcement-learning", env_id)
    assert (result.metric_type, result.metric_value) == ("mean_reward", "490.00 +/- 6.10")
    assert card.text.strip().startswith(f"# (CleanRL) **PPO** Agent Playing **{env_id}**")
    assert "--anneal-lr" in card.text
    assert "--no-norm-adv" in card.text
    assert "target-kl" not in card.text


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("", "ALE-Breakout-v5-ppo_atari-seed3"),
        ("ada/", "ada/ALE-Breakout-v5-ppo_atari-seed3"),
        ("ada/mine", "ada/mine"),
        ("mine", "mine"),
    ],
)
def test_names_of_repositories(given: str, wanted: str) -> None:
    repo = hub_folder.repo_id(given, hub_folder.default_name("ppo_atari", "ALE/Breakout-v5", 3))
    assert repo == wanted
    validate_repo_id(repo)


@pytest.mark.parametrize("given", ["a/b/c", "ada/has space", "-x/y", "ada/a--b", "ada/" + "x" * 100, "ada/..", "/x"])
def test_bad_names_of_repositories_are_refused(given: str) -> None:
    with pytest.raises(ConfigError, match="cannot be the name of a repository"):
        hub_folder.repo_id(given, "CartPole-v1-ppo-seed1")


def upload(folder: Path, home: Path, url: str, token: str = TOKEN) -> "subprocess.CompletedProcess[str]":
    """In a process of its own: the library reads its environment when it is imported."""
    code = (
        "import sys; from pathlib import Path; from mosaic.errors import MosaicError\n"
        "from mosaic.track import hub_upload\n"
        "try:\n"
        "    hub_upload.check_ready()\n"
        f"    print(hub_upload.upload(Path({str(folder)!r}), 'ada/mine', private=True, message='ppo, seed 1'))\n"
        "except MosaicError as error:\n"
        "    sys.exit(str(error))\n"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGING"))}
    # Large files by the plain protocol: the stand-in is not a content-addressed store.
    environment |= {"HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1"}
    environment |= {"HF_TOKEN": token} if token else {}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def test_a_folder_is_uploaded_whole_in_one_commit(tmp_path: Path) -> None:
    hub_folder.write(tmp_path / "out", publication())
    with serving() as hub:
        done = upload(tmp_path / "out", tmp_path / "hf", hub.url)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip().endswith("/ada/mine")
    [made] = hub.made
    assert (made["name"], made["visibility"]) == ("mine", "private")
    assert hub.message == "ppo, seed 1"
    assert hub.files == {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert sum("/commit/" in asked for asked in hub.asked) == 1


def test_a_refusal_a_dead_server_and_no_login_are_explained(tmp_path: Path) -> None:
    hub_folder.write(tmp_path / "out", publication())
    with serving(refuse=403) as hub:
        refused = upload(tmp_path / "out", tmp_path / "hf", hub.url)
    assert refused.returncode == 1
    assert "the upload to ada/mine failed: " in refused.stderr
    assert "403" in refused.stderr
    assert f"everything is in {tmp_path / 'out'}" in refused.stderr
    assert TOKEN not in refused.stderr
    dead = upload(tmp_path / "out", tmp_path / "hf", hub.url)
    assert (dead.returncode, "failed: " in dead.stderr) == (1, True)
    logged_out = upload(tmp_path / "out", tmp_path / "hf", hub.url, token="")
    assert "run 'hf auth login', or set HF_TOKEN" in logged_out.stderr
