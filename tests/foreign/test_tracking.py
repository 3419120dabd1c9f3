"""A script that tracks: our exporter follows its events, and the script's own process never meets the network."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mosaic.spec.run_record import RunRecord

SCRIPTS = {
    "more/tracks.py": ((), "mine", "loss"),
    "manners/ppo.py": (("--track", "--total-timesteps", "256"), "cleanRL", "losses/value_loss"),
}
"""One that says so in its source and one by its flag: flags, project and a tag of each."""


@pytest.fixture(scope="module")
def runs(studio: Any) -> dict[str, RunRecord]:
    return {name: studio.submit(name, *words) for name, (words, _, _) in SCRIPTS.items()}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_exporter_follows(
    studio: Any, eventually: Callable[..., Any], runs: dict[str, RunRecord], name: str
) -> None:
    _, project, tag = SCRIPTS[name]
    run = studio.ended(runs[name])
    assert run.state == "finished", (run.reason, run.stderr_tail)
    run_dir = studio.home.run(run.run_id)

    def begun() -> dict[str, Any] | None:
        state = json.loads(run_dir.wandb_export.read_bytes()) if run_dir.wandb_export.exists() else {}
        return state if state.get("project") or state.get("state") == "failed" else None

    # That it then is complete is what tests/track is about.
    state = eventually(begun, what="the exporter")
    assert (state["project"], state["state"] != "failed") == (project, True), state
    scalars = [event for event in studio.events(run) if event["kind"] == "scalars"]
    assert any(tag in event["values"] for event in scalars)
    # The package itself would have left its folder beside the script.
    assert not (run_dir.root / "work" / "wandb").exists()
