"""The list of policies: one file that is gone or is none costs the others nothing."""

import torch

from mosaic.spec import manifest
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.trainer import policies


def test_one_bad_file_does_not_hide_the_other_policies_of_its_run(tmp_path):
    run_dir = Home(tmp_path).run(new_run_id())
    (run_dir.root / "work").mkdir(parents=True)
    torch.save({"actor.weight": torch.zeros(2)}, run_dir.root / "work" / "agent.pt")
    (run_dir.root / "work" / "optimiser.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    made = Manifest(run_id=run_dir.run_id, algo="mine.py", env_id="CartPole-v1", seed=1, label="mine")
    for name in ("gone.pt", "optimiser.safetensors", "agent.pt"):
        made = made.adding(Artifact(kind="policy", path=f"work/{name}", global_step=7))
    manifest.write(run_dir, made)
    assert [(file.path.name, file.kind) for file in policies._read(run_dir)] == [("agent.pt", "cleanrl")]
