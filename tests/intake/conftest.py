"""Folders of other tools, made by the tools themselves; a home with a real daemon, ended by its id."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic import cli
from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.spec.run_dir import Home

SB3 = """
import sys, gymnasium as gym
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
env = make_vec_env("CartPole-v1", n_envs=2, seed=1, monitor_dir=sys.argv[3])
PPO("MlpPolicy", env, n_steps=128, batch_size=64, tensorboard_log=sys.argv[4], device="cpu").learn(512)
"""

CLEANRL = """
import sys, wandb
from torch.utils.tensorboard import SummaryWriter
for seed in (1, 2):
    name = f"CartPole-v1__ppo__{seed}__170000000{seed}"
    settings = dict(exp_name="ppo", env_id="CartPole-v1", seed=seed, total_timesteps=1000, learning_rate=2.5e-4,
        anneal_lr=True, target_kl=None, track=True, wandb_project_name="cleanRL", capture_video=False)
    run = None
    if seed == 2:
        run = wandb.init(project="cleanRL", name=name, config=settings, mode="offline", dir=sys.argv[2],
            settings=wandb.Settings(console="off", x_disable_stats=True))
    writer = SummaryWriter(f"{sys.argv[1]}/{name}")
    rows = "\\n".join(f"|{key}|{value}|" for key, value in settings.items())
    writer.add_text("hyperparameters", f"|param|value|\\n|-|-|\\n{rows}")
    for step in range(0, 1000, 100):
        writer.add_scalar("charts/episodic_return", step / 10 + seed, step)
        writer.add_scalar("charts/episodic_length", step // 10 + 1, step)
        writer.add_scalar("losses/value_loss", float("nan") if step == 300 else 1 / (step + 1), step)
        writer.add_scalar("charts/SPS", 100 + step, step)
        if run: run.log({"global_step": step, "charts/episodic_return": step / 10 + seed, "losses/value_loss": 0.5})
    writer.close()
    if run: run.finish()
run = wandb.init(project="other", name="only in W&B", config=dict(env_id="Acrobot-v1", algo="mine", seed=7, gamma=0.9),
    mode="offline", dir=sys.argv[2], settings=wandb.Settings(console="off", x_disable_stats=True))
for step in range(50):
    run.log({"loss": step / 7, "note": "a text", "inf": float("inf")})
run.finish(exit_code=3)
"""


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as users have one: CleanRL's runs/, videos/ and wandb/, and Stable-Baselines3's logs."""
    root = tmp_path_factory.mktemp("old")
    variables = {**os.environ, "WANDB_SILENT": "true", "WANDB_CACHE_DIR": str(root / ".cache")}
    variables["WANDB_CONFIG_DIR"] = variables["WANDB_DATA_DIR"] = str(root / ".cache")
    folders = (root / "runs", root, root / "sb3" / "monitors", root / "sb3")
    # In one process: both import torch.
    command = [sys.executable, "-c", CLEANRL + SB3, *map(str, folders)]
    subprocess.run(command, env=variables, check=True, stdout=subprocess.DEVNULL)
    (root / "runs" / "CartPole-v1__ppo__1__1700000001" / "ppo.cleanrl_model").write_bytes(b"weights")
    films = root / "videos" / "CartPole-v1__ppo__1__1700000001"
    films.mkdir(parents=True)
    (films / "rl-video-episode-0.mp4").write_bytes(b"film")
    return root


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Home]:
    made = Home(tmp_path_factory.mktemp("home"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOSAIC_HOME", str(made.root))
        made.create()
        command = [sys.executable, "-m", "mosaic.trainer", "--no-warm"]
        with (made.root / "daemon.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + 300
        while running_address(made) is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield made
        process.send_signal(signal.SIGTERM)
        process.wait()


@pytest.fixture
def client(home: Home) -> Iterator[Client]:
    with Client(home=home, start=False) as made:
        yield made


@pytest.fixture
def take_in(home: Home, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, list[dict[str, Any]]]]:
    """`mosaic import … --json`: its exit code, and what it said of each folder."""

    def run(*words: str) -> tuple[int, list[dict[str, Any]]]:
        capsys.readouterr()
        code = cli.main(["import", *words, "--json"])
        said = capsys.readouterr()
        return code, [json.loads(line) for line in said.out.splitlines()] or [{"error": said.err}]

    return run
