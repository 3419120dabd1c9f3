"""The list of policies: one file that is gone or is none costs the others nothing."""

import torch

from mosaic.spec import manifest
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState
from mosaic.trainer.index import policy_list


def test_one_bad_file_does_not_hide_the_other_policies_of_its_run(tmp_path):
    run_dir = Home(tmp_path).run(new_run_id())
    (run_dir.root / "work").mkdir(parents=True)
    torch.save({"actor.weight": torch.zeros(2)}, run_dir.root / "work" / "agent.pt")
    (run_dir.root / "work" / "optimiser.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    made = Manifest(run_id=run_dir.run_id, algo="mine.py", env_id="CartPole-v1", seed=1, label="mine")
    for name in ("gone.pt", "optimiser.safetensors", "agent.pt"):
        made = made.adding(Artifact(kind="policy", path=f"work/{name}", global_step=7))
    manifest.write(run_dir, made)
    assert [(file.path.name, file.kind) for file in policy_list._read(run_dir)] == [("agent.pt", "cleanrl")]


def test_a_run_that_does_not_know_its_environment_names_none(tmp_path):
    run_dir = Home(tmp_path).run(new_run_id())
    for place in ("work/agent.pt", "work/runs/CartPole-v1__ppo__1__1700000000/agent.pt"):
        (run_dir.root / place).parent.mkdir(parents=True)
        torch.save({"actor.weight": torch.zeros(2)}, run_dir.root / place)
        made = Manifest(run_id=run_dir.run_id, algo="mine.py", env_id="unknown", seed=1, label="mine")
        manifest.write(run_dir, made.adding(Artifact(kind="policy", path=place)))
        record = RunRecord(run_id=run_dir.run_id, state=RunState.FINISHED, env_id="unknown", algo="mine.py")
        (found,) = policy_list.Policies(Home(tmp_path), None)._of(record)
        assert found.env_id == ("" if place == "work/agent.pt" else "CartPole-v1")
