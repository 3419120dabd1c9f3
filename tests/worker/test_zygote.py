"""The warm worker's promise to those forked from it."""

import subprocess
import sys

CODE = """
import torch
asked = []
for name in ("is_available", "device_count", "init", "_lazy_init"):
    setattr(torch.cuda, name, lambda *_, name=name: asked.append(name) or 0)
from cleanrl_worker import zygote
zygote._import_everything()
print(asked)
"""


def test_it_asks_cuda_nothing():
    # torch refuses CUDA in a process whose parent has asked for it: every warm run on a GPU would fail.
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
