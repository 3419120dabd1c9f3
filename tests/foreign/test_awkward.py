"""What is put around a script must not end it: things that work plainly work here, and no number is lost."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ASKED = """
import threading, time
import gymnasium as gym, numpy as np
from cleanrl_worker.foreign.environment_patches import EnvironmentPatches
from cleanrl_worker.foreign.step_counts import StepCounts
from types import SimpleNamespace

class Slow(gym.Wrapper):
    def render(self):
        time.sleep(0.5)
        return super().render()

stage = SimpleNamespace(wanted=True, slots=[], made={}, look=lambda: None, leave=lambda slot: None)
stage.eye = SimpleNamespace(due_at=float("inf"))
stage.enter = lambda slot: stage.slots.append(slot) or len(stage.slots) - 1
EnvironmentPatches(stage, StepCounts(), old=False).change()
envs = gym.vector.AsyncVectorEnv([lambda: Slow(gym.make("CartPole-v1"))] * 2)
envs.reset(seed=1)
slot = stage.slots[-2]
envs.step_async(np.zeros(2, int))
assert slot.picture().shape == (64, 64, 3)
assert envs.step_wait()[0].shape == (2, 4)
# And the other way round: the view has given up waiting, the script goes on.
threading.Thread(target=slot.picture).start()
time.sleep(0.1)
assert envs.step(np.zeros(2, int))[0].shape == (2, 4)
assert slot.picture().shape == (400, 600, 3)
envs.close()
print("whole")
"""
FENCED = """
import sys, threading
from pathlib import Path
from cleanrl_worker.foreign import fence
fence._landlock = lambda folders: False
fence.tempfile.tempdir = sys.argv[1] + "/work"
told, done = threading.Event(), threading.Event()
def keep_the_record():
    told.wait()
    Path(sys.argv[1], "record").write_text("kept")
    done.set()
threading.Thread(target=keep_the_record, daemon=True).start()
assert fence.put_up(Path(sys.argv[1], "work")) == "audit"
told.set()
assert done.wait(300)
Path(sys.argv[1], "work", "mine").write_text("allowed")
try:
    Path(sys.argv[1], "outside").write_text("refused")
except PermissionError:
    print("refused")
"""


def test_an_awkward_script_runs_as_it_would_plainly(studio: Any) -> None:
    run = studio.ended(studio.submit("more/awkward.py"))
    assert run.state == "finished", (run.reason, run.stderr_tail)
    events = studio.events(run)
    points = [
        (event["global_step"], tag, value)
        for event in events
        if event["kind"] == "scalars"
        for tag, value in event["values"].items()
    ]
    assert sorted(points, key=str) == [
        (0, "charts/no_step", 2.0),
        (5, "charts/episodic_length", "nan"),
        (5, "charts/episodic_return", 1.0),
        (6, "charts/episodic_return", 7.0),
    ]
    assert any("could not be written" in event.get("message", "") for event in events)
    run_dir = studio.home.run(run.run_id)
    assert list((run_dir.root / "work" / "runs" / "child").iterdir())
    # wandb.init(mode="disabled") switches nothing on.
    assert not run_dir.wandb_export.exists()
    assert json.loads(run_dir.config.read_bytes())["artifacts"]["wandb"]["enabled"] is False


def test_a_picture_is_never_asked_for_while_the_script_waits_for_a_step() -> None:
    """Its answer would be taken for the step's, and end the script."""
    said = subprocess.run([sys.executable, "-c", ASKED], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert said == "whole\n"


def test_without_landlock_the_script_is_fenced_in_and_the_record_is_kept(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    said = subprocess.run(
        [sys.executable, "-c", FENCED, str(tmp_path)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    assert said == "refused\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["record", "work"]
