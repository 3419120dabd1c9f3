"""What cannot work is refused at submit, by what the daemon knows: nothing is made, and the answer says what would."""

import json
import re

import pytest

from mosaic.rpc.client import Client, Refused
from mosaic.spec.run_dir import Home

RUN_ID = re.compile(r"[0-9A-Z]{26}")


@pytest.fixture
def nothing_made():
    """Afterwards the home has the runs that it had before, and no file of another one."""

    def runs():
        trainer = Home.resolve().root / "trainer"
        named = [path.name for folder in ("runs", "configs") for path in (trainer / folder).iterdir()]
        return {found[0] for name in named if (found := RUN_ID.search(name))}

    before = runs()
    yield
    assert runs() == before


FITTING = "crossq_continuous_action, ddpg_continuous_action, ppo_continuous_action, rpo_continuous_action"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "train ppo --env-id Pendulum-v1",
            "--env-id: ppo needs discrete or multi_discrete actions, Pendulum-v1 has Box(-2.0, 2.0, (1,), float32):"
            " use " + FITTING,
        ),
        (
            "train ppo --total-timesteps 100",
            "--total-timesteps: is 100, less than the 512 steps of one rollout (--num-envs × --num-steps)",
        ),
        # Neither iql and bc, which need data, nor ppo_resident, which knows few environments.
        ("train bdi_q --env-id CartPole-v1", "use c51, dqn, ppo, ppo_lstm, pqn, qr_dqn, sac_discrete"),
        (
            "train ppo_resident --env-id LunarLander-v3",
            "mosaic/Lanes-v0, not in LunarLander-v3: use c51,",
        ),
        ("train ppo_resident --env-id Pendulum-v1", "--env-id: ppo_resident learns only in Acrobot-v1, CartPole-v0,"),
        ("train ppo_resident --wrap TimeLimit:9", "without wrappers; leave out TimeLimit"),
        ("train ppo --env-id MinAtar/Seaquest-v1", "mosaic/Fleet-v0 (SpaceInvaders); type --env-id mosaic/Divers-v0"),
        ("play MinAtar/Breakout-v1", "type --env-id mosaic/Bricks-v0"),
        (
            "train ppo --wrap RescaleObservation:0,1",
            "--wrap: RescaleObservation needs observations with finite bounds, CartPole-v1 shows Box(",
        ),
        (
            "sweep ppo --wrap GrayscaleObservation --trials 2",
            "--wrap: GrayscaleObservation needs pictures (uint8, from 0 to 255), CartPole-v1 shows Box(",
        ),
        ("train ppo_atari --env-id ALE/Pong-v5 --env.frameskip [2,5]", "need one number, not a range"),
        ("train ppo --num-minibatches 9999", "--num-minibatches: is 9999, more than the 512 steps of a rollout"),
        ("train c51 --v-min 3 --v-max 2", "--v-min: is 3.0, which must be less than --v-max, 2.0"),
        (
            "train dqn --num-envs 3 --total-timesteps 2",
            "--total-timesteps: is 2, less than --num-envs, 3: not one step",
        ),
        ("train ppo --env-id classic/tictactoe-v3", "--env-id: 'classic/tictactoe-v3' is for several players"),
        ("train ppo --env-id tictactoe_v3", "--env-id: 'tictactoe_v3' is for several players"),
        ("train ppo --env-id CartPol-v1", "'CartPol-v1' is not known; did you mean CartPole-v1?"),
        ("train ppo --env-id Walker2d-v2", "'Walker2d-v2' is not known; did you mean Walker2d-v5?"),
        ("train dqn_atari --env-id CartPole-v1", "--env-id: dqn_atari needs pictures, CartPole-v1 shows Box("),
        ("train sac_continuous_action --env-id ALE/Pong-v5", "has discrete actions: use c51_atari, dqn_atari,"),
        ("play NoSuch-v0", "environment 'NoSuch-v0' is not known; 'mosaic envs' lists"),
        ("play CartPole-v9", "did you mean CartPole-v1?"),
        ("play CartPole-v1 --actor wizard", "--actor: 'wizard' is not an actor; there are human, random, policy,"),
        ("play CartPole-v1 --actor randon", "--actor: 'randon' is not an actor; did you mean 'random'?"),
        ("play CartPole-v1 --actor replay", "--actor: 'replay' needs to know which: write replay:RUN/EPISODE"),
        ("play CartPole-v1 --actor random:7", "--actor: 'random' takes nothing after a colon, '7' was given"),
        ("play ALE/Pong-v5 --actor bdi", "'bdi' cannot act in ALE/Pong-v5: BDI agent knows discrete and vector"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_made(mosaic, nothing_made, words, said):
    got = mosaic(*words.split(), *(["--detach"] if words.startswith("play") else []))
    assert got.code == 2, got
    assert got.out == ""
    assert said in got.err
    assert "metadata" not in got.err
    assert "Value error" not in got.err


def test_python_gets_the_same_words_as_the_command_line(mosaic, nothing_made):
    typed = mosaic("train", "ppo", "--env-id", "Pendulum-v1").err
    few = mosaic("train", "ppo", "--total-timesteps", "100").err
    with Client() as client:
        with pytest.raises(Refused) as refused:
            client.train("ppo", env_id="Pendulum-v1", total_timesteps=10_000)
        assert f"error: {refused.value.sentence}\n" == typed
        with pytest.raises(Refused) as refused:
            client.train("ppo", env_id="CartPole-v1", total_timesteps=100)
        assert few.startswith(f"error: {refused.value.sentence}")


def test_all_that_is_wrong_is_told_at_once(mosaic, nothing_made):
    with Client() as client, pytest.raises(Refused, match="2 problems") as refused:
        client.train("ppo", env_id="Pendulum-v1", total_timesteps=100)
    assert "--total-timesteps: is 100" in str(refused.value)
    assert "--env-id: ppo needs discrete or multi_discrete actions" in str(refused.value)


def test_a_dry_run_of_what_cannot_work_says_the_same_and_starts_no_worker(mosaic):
    got = mosaic("train", "ppo", "--env-id", "Pendulum-v1", "--dry-run", "--json")
    assert got.code == 2
    [found] = got.objects
    assert found["summary"] == {}
    [problem] = found["problems"]
    assert problem["path"] == "env_id"
    assert problem["message"].startswith("ppo needs discrete or multi_discrete actions, Pendulum-v1 has Box(")


def test_an_environment_of_a_users_module_is_tried_by_a_worker(mosaic):
    """Only a worker can know what it is; that is said, and a worker's refusal comes before the run is made."""
    got = mosaic("train", "ppo_continuous_action", "--env-id", "resting:Resting-v0")
    assert got.code == 2
    assert "only a worker can tell what resting:Resting-v0 is" in got.err
    assert "ppo_continuous_action needs continuous actions, resting:Resting-v0 has Discrete(" in got.err
    missing = mosaic("train", "ppo", "--env-id", "no_such_module:Thing-v0")
    assert missing.code == 2
    assert "no_such_module" in missing.err


def test_a_run_config_that_its_worker_refuses_is_told_in_flags(mosaic, tmp_path, monkeypatch, capsys):
    """As a worker of the daemon finds it, should the daemon have known less."""
    from cleanrl_worker.sdk.command import carry_out
    from mosaic.spec.processes.life_lock import INHERITED

    worker = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 100, "extras": {"algo_params": {"gamma": 7}}}
    file = tmp_path / "worker-01M7-3.json"
    file.write_text(
        json.dumps(
            {"environment": {"env_id": "CartPole-v1"}, "artifacts": {}, "metadata": {"worker": {"config": worker}}}
        )
    )
    monkeypatch.setenv(INHERITED, "1")
    assert carry_out.main(argv=["--config", str(file), "--dry-run"]) == 2
    assert "--gamma: must be less than or equal to 1 (got 7)" in capsys.readouterr().err
    worker["extras"]["algo_params"] = {}
    file.write_text(
        json.dumps(
            {"environment": {"env_id": "CartPole-v1"}, "artifacts": {}, "metadata": {"worker": {"config": worker}}}
        )
    )
    assert carry_out.main(argv=["--config", str(file), "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert "--total-timesteps: is 100, less than the 512 steps of one rollout" in said
    assert "metadata" not in said
    assert file.name not in said
