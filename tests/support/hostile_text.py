"""A run directory that holds hostile text wherever a run can hold text, and what of it may not be shown."""

import json
import unicodedata

from planted_runs import Artifact, file_in, plant

from mosaic.spec.episode_file import EpisodeEnd, EpisodeHead, encode
from mosaic.spec.events import CheckpointSaved, Episode, PolicySaved, RunFailed, RunStarted, Scalars, VideoSaved, Warned
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.states import RunState

FAKE = "01FAKELINEFAKELINEFAKELINE"
IN_A_NAME = (
    "<img src='http://evil.example/x.png'><h1>A\x1b[31mred\x1b]0;title\x07\x9b31m\x9d0;x\x9c\x1b]8;;http://evil.example\x1b\\link\x1b]52;c;ZWNobw==\x07\x1bP+q\x1b\\"
    "\x1bc\x0e\x0f\x08\x7f\x85\u202ebidi\u2066iso\u2069\u200fmark\u2028sep\u200bzero\ufeff\U000e0041tag\r"
)
"""Whatever a file name may hold."""
EVIL = f"{IN_A_NAME}\x00\n{FAKE}  finished"
"""Whatever a field of JSON may hold: also a second line that looks like one of ours."""
BAD = IN_A_NAME.replace("\r", "")
"""A word of a command line; an error repeats it."""
ALLOWED = "\n\t\u200c\u200d"


def harmful(text: str) -> list[str]:
    wrong = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return [ascii(letter) for letter in text if unicodedata.category(letter) in wrong and letter not in ALLOWED]


def plant_hostile(home: Home) -> RunDir:
    """A run whose every text is hostile."""
    files = [f"videos/{IN_A_NAME}.mp4", f"runs/{IN_A_NAME}/{IN_A_NAME}.cleanrl_model", f"{IN_A_NAME}.txt"]
    artifacts = [
        Artifact(kind="video", path=files[0], label=EVIL),
        Artifact(kind="policy", path=files[1], label=EVIL),
        Artifact(kind="checkpoint", path="checkpoints/step-5", label=EVIL),
        Artifact(kind="log", path=files[2], label=EVIL),
    ]
    events = (
        RunStarted(algo=EVIL, env_id=EVIL, seed=1, total_timesteps=1000),
        Episode(global_step=10, slot=0, episodic_return=3.0, episodic_length=10),
        Scalars(global_step=10, values={EVIL: 1.0, "losses/value_loss": 2.0}),
        Warned(message=EVIL),
        CheckpointSaved(global_step=5, path="checkpoints/step-5", reason="interval"),
        PolicySaved(global_step=10, path=files[1]),
        VideoSaved(path=files[0], episode_id=1, episodic_return=1.0, episodic_length=10),
        RunFailed(global_step=10, error=EVIL, message=EVIL),
    )
    worker = {"algo": EVIL, "env_id": EVIL, "total_timesteps": 1000, "seed": 1}
    worker["extras"] = {"notes": EVIL, "algo_params": {EVIL: EVIL}}
    config = {"run_name": EVIL, "environment": {"env_id": EVIL}, "metadata": {"worker": {"config": worker}}}
    texts = dict.fromkeys(("reason", "label", "notes", "algo", "env_id", "group"), EVIL)
    tail = (EVIL, EVIL)
    run_dir = plant(home, *artifacts, events=events, config=config, state=RunState.FAILED, stderr_tail=tail, **texts)
    for path in (run_dir.stdout, run_dir.stderr):
        path.write_bytes(f"{EVIL}\nprogress 1%\rprogress 2%\r\n{EVIL}".encode() + b"\xff\xfe\x9b31m\n")
    metadata = {"format": "mosaic-policy-1", "algo": EVIL, "env_id": EVIL, "args": "{}", "global_step": "10"}
    header = json.dumps({"__metadata__": metadata})
    policy = file_in(run_dir, files[1])
    policy.write_bytes(len(header).to_bytes(8, "little") + header.encode())
    for name in (files[0], files[2], "checkpoints/step-5/state.json"):
        file_in(run_dir, name)
    head = EpisodeHead(
        run_id=run_dir.run_id, episode=1, env_id=EVIL, seed=1, seats={EVIL: EVIL}, versions={EVIL: EVIL}, digest="x"
    )
    end = EpisodeEnd(outcome="terminated", length=1, returns={EVIL: 1.0})
    file_in(run_dir, "episodes/episode-000001.jsonl", f"{encode(head)}\n{encode(end)}\n")
    for tracker in ("wandb", "trackio", "mlflow"):
        state = {"state": "failed", "why": EVIL, "url": EVIL, "folder": EVIL, "server": EVIL, "proxy": EVIL}
        file_in(run_dir, f"{tracker}/export.json", json.dumps(state))
    return run_dir
