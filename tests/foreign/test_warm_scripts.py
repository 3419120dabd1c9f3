"""The second script starts sooner than the first: the warm worker has then what torch's optimisers import."""

from typing import Any

SCRIPT = """import sys
import gymnasium
print("warm" if "torch._dynamo" in sys.modules else "cold", flush=True)
"""


def test_after_a_script_the_warm_worker_has_torchs_compiler(studio: Any) -> None:
    document = studio.document("faults/exits.py")
    document["metadata"]["worker"]["config"]["extras"]["algo_params"] = {}
    path = studio.own / "compiler.py"
    path.write_text(SCRIPT)
    document["metadata"]["worker"]["config"]["algo"] = str(path)
    said: list[str] = []
    for _ in range(2):
        run = studio.ended(studio.client.submit(document)[0])
        assert run.state == "finished", (run.reason, run.stderr_tail)
        said += [line for line in studio.home.run(run.run_id).stdout.read_text().split() if line in ("warm", "cold")]
    # Another test may have run a script before.
    assert said[1] == "warm"
