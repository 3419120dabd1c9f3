"""What a researcher writes is what trains: each of these edits of an algorithm's file is followed, and told.

An edit is tried in a copy of the file, as a user would make it. The same copy without any fast path says what it should
have trained.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from edited_algorithms import Trained, edited, trained, without_fast_path
from worker_cases import CASES

ON_POLICY = {
    "ppo": "CartPole-v1",
    "ppo_resident": "CartPole-v1",
    "ppo_continuous_action": "Pendulum-v1",
    "rpo_continuous_action": "Pendulum-v1",
    "ppo_lstm": "CartPole-v1",
    "pqn": "CartPole-v1",
}
ENVS = 2
STEPS = 16


def settings_of(algo: str, *, rollouts: int = 2) -> dict[str, Any]:
    """Two rollouts, for a schedule to go on; four updates of each, for the new policy to leave the old one."""
    return {
        "env_id": ON_POLICY[algo],
        "num_envs": ENVS,
        "num_steps": STEPS,
        "num_minibatches": 2,
        "update_epochs": 2,
        "total_timesteps": rollouts * STEPS * ENVS,
    }


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trained]:
    """Each file as it is, by its fast path."""
    return {
        algo: trained(edited(algo, folder := tmp_path_factory.mktemp(algo)), algo, folder, settings_of(algo))
        for algo in ON_POLICY
    }


ADAM = "adam(agent, learning_rate=args.learning_rate, eps=1e-5)"
SGD = "torch.optim.SGD(agent.parameters(), lr=args.learning_rate)"
DECAY = "torch.optim.AdamW(agent.parameters(), lr=args.learning_rate, eps=1e-5)"
BETAS = "torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5, betas=(0.9, 0.99))"
CLIP = "        nn.utils.clip_grad_norm_(self.agent.parameters(), self.args.max_grad_norm)\n"
PPO_EDITS: dict[str, tuple[tuple[str, str], ...]] = {
    "a term is scaled": (("return policy_loss -", "return 1000 * policy_loss -"),),
    "the whole loss is scaled": (("return policy_loss -", "return 3 * (policy_loss) - 2 * value_loss -"),),
    "a term is dropped": (('policy_loss - batch["ent_coef"] * entropy', "policy_loss"),),
    "a term is added": (("return policy_loss -", "return 0.1 * value.abs().mean() + policy_loss -"),),
    "another distance": (("0.5 * errors.mean()", "0.5 * (errors + 1e-6).sqrt().mean()"),),
    "a wider clip": (("1 - clip_coef, 1 + clip_coef", "0.5 - clip_coef, 1.5 + clip_coef"),),
    "no clip of the value": (("if args.clip_vloss:", "if False:"),),
    "another limit of the gradient": (("self.args.max_grad_norm)", "0.6)"),),
    "no limit of the gradient": ((CLIP, ""),),
    "another epsilon": (("eps=1e-5)", "eps=1e-3)"),),
    "other betas": ((ADAM, BETAS),),
    "weight decay": ((ADAM, DECAY),),
    "a little weight decay": ((ADAM, DECAY.replace("eps=1e-5", "eps=1e-5, weight_decay=1e-5")),),
    "another optimiser": ((ADAM, SGD),),
    "another number is logged": (('"approx_kl": ((ratio - 1) - logratio)', '"approx_kl": (0.5 * logratio**2 + 1)'),),
    "one more number is logged": (('"entropy": entropy,', '"entropy": entropy, "ratio": ratio.mean(),'),),
}
MLP_EDITS: dict[str, tuple[tuple[str, str], ...]] = {
    "another activation": (("nn.Tanh()", "nn.GELU()"),),
    "layer norms": (("nn.Linear(inputs, 64)),\n", "nn.Linear(inputs, 64)),\n            nn.LayerNorm(64),\n"),),
    "no bias": (("nn.Linear(64, 64)", "nn.Linear(64, 64, bias=False)"), ("nn.init.constant_(layer.bias, 0.0)", "pass")),
    "other inputs of the critic": (('agent.critic(batch["obs"])', 'agent.critic(0.5 * batch["obs"])'),),
}
SHARED_EDITS = {
    edit: PPO_EDITS[edit]
    for edit in ("a term is scaled", "another distance", "a wider clip", "no limit of the gradient", "weight decay")
}
TOLD_LATER = frozenset({"a memory that never forgets"})
"""Seen only with an episode's end in the data; what was trained until then was trained by the fast path."""
EDITS: dict[str, dict[str, tuple[tuple[str, str], ...]]] = {
    "ppo": {
        **PPO_EDITS,
        **MLP_EDITS,
        "other inputs of the critic": (('agent.values(batch["obs"])', 'agent.values(0.5 * batch["obs"])'),),
        "a colder policy": (('(inputs["obs"]) + inputs["noise"]', '(inputs["obs"]) * 2 + inputs["noise"]'),),
        "other log-probabilities": (("return distribution.log_prob(", "return 0.5 * distribution.log_prob("),),
        "other values": (("agent.values(self.tensor(obs))", "agent.values(2 * self.tensor(obs))"),),
        "a setting that is gone": (
            ("    clip_vloss: bool = True\n", ""),
            ('    """Clip the value loss as well."""\n', ""),
            ("if args.clip_vloss:", "if True:"),
        ),
        "one more feature": (
            (
                "inputs = int(np.prod(observation_space.shape or ()))",
                "inputs = 1 + int(np.prod(observation_space.shape or ()))",
            ),
            ('self.agent.logits(inputs["obs"])', 'self.agent.logits(with_one(inputs["obs"]))'),
            ("self.agent.logits(self.tensor(obs))", "self.agent.logits(with_one(self.tensor(obs)))"),
            ("self.agent.values(self.tensor(obs))", "self.agent.values(with_one(self.tensor(obs)))"),
            ('agent.logits(batch["obs"])', 'agent.logits(with_one(batch["obs"]))'),
            ('agent.values(batch["obs"])', 'agent.values(with_one(batch["obs"]))'),
            (
                "def train(",
                "def with_one(obs):\n    return torch.cat([obs, torch.ones(len(obs), 1)], 1)\n\n\ndef train(",
            ),
        ),
        "a learner with one more argument": (
            ("coefficients: Coefficients) ->", "coefficients: Coefficients, bonus: float = 0.0) ->"),
        ),
    },
    "ppo_resident": {
        **SHARED_EDITS,
        "another activation": MLP_EDITS["another activation"],
        "the unlikeliest actions": (("(logits + noise)", "(noise - logits)"),),
        "other values": (("return self.agent.values(obs)", "return self.agent.values(2 * obs)"),),
    },
    "ppo_continuous_action": {
        **SHARED_EDITS,
        **MLP_EDITS,
        "another spread": (("torch.exp(self.actor_logstd", "nn.functional.softplus(self.actor_logstd"),),
        "more exploration": (("self.agent.actor_logstd.exp()", "(self.agent.actor_logstd + 1).exp()"),),
    },
    "rpo_continuous_action": {**SHARED_EDITS, "no shifts": (('batch["obs"], batch["shifts"])', 'batch["obs"])'),)},
    "ppo_lstm": {
        **SHARED_EDITS,
        "another activation": (("torch.relu(self.network(obs))", "torch.tanh(self.network(obs))"),),
        "a memory that never forgets": (("keep * hidden, keep * cell", "hidden, cell"),),
        "another memory": (("nn.LSTM(UNITS, UNITS)", "nn.LSTM(UNITS, UNITS, bias=False)"),),
    },
    "pqn": {
        "the loss is scaled": (("return nn.functional.mse_loss", "return 3 * nn.functional.mse_loss"),),
        "another distance": (("mse_loss", "huber_loss"),),
        "a term is added": (("return nn.functional.mse_loss", "return old_val.mean() + nn.functional.mse_loss"),),
        "another activation": (("nn.ReLU()", "nn.GELU()"),),
        "no layer norms": (("            nn.LayerNorm(120),\n", ""),),
        "another optimiser": (
            ("radam(q_network, learning_rate=args.learning_rate)", SGD.replace("agent", "q_network")),
        ),
        "no limit of the gradient": ((CLIP.replace("agent", "q_network"), ""),),
        "the worst action": ((".argmax(1)}", ".argmin(1)}"),),
    },
}


@pytest.mark.parametrize(
    ("algo", "edit"), [(algo, edit) for algo, edits in EDITS.items() for edit in edits], ids=lambda part: part
)
def test_an_edit_is_trained_and_told(algo: str, edit: str, tmp_path: Path, untouched: dict[str, Trained]) -> None:
    module = edited(algo, tmp_path, *EDITS[algo][edit])
    found = trained(module, algo, tmp_path, settings_of(algo))
    expected = trained(without_fast_path(module), algo, tmp_path, settings_of(algo))
    assert [one for one in found.warnings if f"the loss of {algo}.py differs from its fast path" in one]
    if edit in TOLD_LATER:
        return
    assert found.follows(expected, rather_than=untouched[algo])
    for name, values in expected.logged.items():
        if name.startswith("losses/"):
            np.testing.assert_allclose(found.logged[name], values, rtol=0.02, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("algo", ON_POLICY)
def test_an_untouched_file_trains_by_its_fast_path(algo: str, untouched: dict[str, Trained]) -> None:
    assert untouched[algo].warnings == []


@pytest.mark.parametrize(
    ("algo", "change"),
    [
        ("ppo", ("ent_coef=args.ent_coef,", "ent_coef=args.ent_coef * (iteration == 1),")),
        ("ppo_continuous_action", ("clip_coef=args.clip_coef,", "clip_coef=args.clip_coef / iteration,")),
        ("ppo_lstm", ("vf_coef=args.vf_coef,", "vf_coef=args.vf_coef * iteration,")),
        ("ppo", ("nn.Linear(64, 64)", "nn.Linear(64, 32)), nn.Tanh(), layer_init(nn.Linear(32, 64)")),
        ("ppo", ("nn.Tanh()", "nn.ReLU()")),
    ],
    ids=["a schedule of the entropy", "of the clip", "of the value", "a deeper network", "another activation"],
)
def test_a_schedule_and_a_network_that_the_fast_path_knows_cost_nothing(
    algo: str, change: tuple[str, str], tmp_path: Path, untouched: dict[str, Trained]
) -> None:
    module = edited(algo, tmp_path, change)
    found = trained(module, algo, tmp_path, settings_of(algo))
    expected = trained(without_fast_path(module), algo, tmp_path, settings_of(algo))
    assert found.warnings == []
    assert found.follows(expected, rather_than=untouched[algo])


def test_a_loss_that_changes_during_the_run_is_noticed(tmp_path: Path) -> None:
    """A coefficient that is kept beside the learner instead of being handed to it."""
    late = ('policy_loss - batch["ent_coef"] * entropy', "policy_loss - agent.bonus * entropy")
    start = (
        "        coefficients = Coefficients(",
        "        agent.bonus = args.ent_coef * iteration**3\n        coefficients = Coefficients(",
    )
    module = edited("ppo", tmp_path, late, start)
    found = trained(module, "ppo", tmp_path, settings_of("ppo", rollouts=6))
    assert len(found.warnings) == 1
    assert "gradient of actor" in found.warnings[0]


PICTURES = {
    "ppo_atari": ("return policy_loss -", "return 5 * policy_loss -"),
    "ppo_rnd": ("return policy_loss -", "return 5 * policy_loss -"),
    "dqn_atari": ("mse_loss", "l1_loss"),
    "c51_atari": (".sum(1).mean()", ".sum(1).mean().square()"),
    "rainbow_atari": (".mean()", ".mean().square()"),
}


@pytest.mark.parametrize("algo", PICTURES)
def test_on_pictures_the_loss_trains_too(algo: str, tmp_path: Path) -> None:
    """There is no second path: torch differentiates what the file says."""
    case = CASES[algo]
    settings = {**case.settings, "env_id": case.env_id, "total_timesteps": 64}
    if "learning_starts" in settings:
        settings |= {"learning_starts": 20, "buffer_size": 64}
    before = trained(edited(algo, tmp_path), algo, tmp_path, settings)
    after = trained(edited(algo, tmp_path, PICTURES[algo]), algo, tmp_path, settings)
    assert before.distance(after) > 1e-4 * float(np.linalg.norm(before.weights))
