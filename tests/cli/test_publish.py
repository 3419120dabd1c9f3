"""`mosaic publish` on a real run: a folder that can be evaluated as it is, and an upload to a stand-in of the Hub."""

import json
import os
import subprocess
from pathlib import Path

from huggingface_hub import ModelCard

from ..track.hub_stand_in import TOKEN, serving
from .conftest import MOSAIC


def test_a_dry_run_writes_a_folder_that_evaluates_to_what_its_card_says(mosaic, finished, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = mosaic("publish", finished, "--repo", "ada/", "--dry-run", str(out), "--episodes", "4", "--json")
    assert said.code == 0, said.err
    [told] = said.objects
    assert told["repo"] == "ada/CartPole-v1-ppo-seed1"
    assert sorted(told["files"]) == sorted(path.name for path in out.iterdir())
    assert {"ppo.cleanrl_model", "ppo.py", "config.json", "replay.mp4", "README.md"} == set(told["files"])
    card = ModelCard.load(out / "README.md")
    assert card.data.eval_results[0].metric_value == f"{told['mean']:.2f} +/- {told['std']:.2f}"
    assert json.loads((out / "config.json").read_text())["env_id"] == "CartPole-v1"
    [again] = mosaic("evaluate", str(out), "--episodes", "4", "--json").objects
    assert [again[key] for key in ("mean", "std", "iqm", "mean_length")] == [
        told[key] for key in ("mean", "std", "iqm", "mean_length")
    ]
    refused = mosaic("publish", finished, "--dry-run", str(out))
    assert (refused.code, "name a new folder" in refused.err) == (2, True)


def test_a_run_is_published_and_what_cannot_be_is_refused_first(mosaic, finished, tmp_path: Path) -> None:
    with serving() as hub:
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGING"))}
        environment |= {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_XET": "1"}

        def publish(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
            return subprocess.run(
                [MOSAIC, "publish", *words], env=environment | more, capture_output=True, text=True, check=False
            )

        logged_out = publish(finished, "--repo", "mine")
        assert (logged_out.returncode, "hf auth login" in logged_out.stderr) == (1, True)
        bad = publish(finished, "--repo", "a b", HF_TOKEN=TOKEN)
        assert (bad.returncode, "cannot be the name" in bad.stderr) == (2, True)
        assert publish("no such run", HF_TOKEN=TOKEN).returncode == 2
        assert hub.asked == [], "nothing is asked before it is known what to publish"
        done = publish(finished, "--episodes", "2", HF_TOKEN=TOKEN)
        assert done.returncode == 0, done.stderr
        assert f"published as CartPole-v1-ppo-seed1: {hub.url}/ada/CartPole-v1-ppo-seed1" in done.stdout
    assert {"ppo.cleanrl_model", "README.md", "replay.mp4"} <= set(hub.files)
