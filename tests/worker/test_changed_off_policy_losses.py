"""What a researcher writes is what trains, off-policy too: each of these edits of a file is followed or told of."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from edited_algorithms import Trained, edited, trained, without_fast_path

SHORT: dict[str, Any] = {"total_timesteps": 100, "batch_size": 32, "buffer_size": 100}
POLE = {**SHORT, "env_id": "CartPole-v1", "train_frequency": 2, "target_network_frequency": 4, "learning_starts": 76}
PENDULUM = {**SHORT, "env_id": "Pendulum-v1", "learning_starts": 94}
SETTINGS: dict[str, dict[str, Any]] = {
    "dqn": {**POLE, "end_e": 0.0, "exploration_fraction": 0.5},
    "c51": {**POLE, "end_e": 0.0, "exploration_fraction": 0.5, "n_atoms": 21},
    "sac_continuous_action": PENDULUM,
    "td3_continuous_action": {**PENDULUM, "policy_noise": 0.5},
    "ddpg_continuous_action": PENDULUM,
}
Edits = dict[str, tuple[tuple[str, str], ...]]

NO_DONES = (' * (1 - batch["dones"])', "")
NO_DONES_OF_CRITICS = ('(1 - batch["dones"]) * ', "")
OTHER_GAMMA = ('batch["gamma"] *', "0.9 *")
L1 = ("mse_loss", "l1_loss")
HUBER = ("mse_loss", "smooth_l1_loss")
WORST = (".float()).argmax(1)", ".float()).argmin(1)")


def optimisers(line: str, parameters: str, rate: str) -> Edits:
    return {
        "another optimiser": ((line, f"torch.optim.RMSprop({parameters}, lr={rate})"),),
        "weight decay": ((line, f"torch.optim.AdamW({parameters}, lr={rate})"),),
        "other betas": ((line, f"torch.optim.Adam({parameters}, lr={rate}, betas=(0.9, 0.99))"),),
        "another epsilon": ((line, line.replace(")", ", eps=1e-5)")),),
    }


Q_EDITS: Edits = {
    "a clip of the gradient": (
        (
            "        loss.backward()\n",
            "        loss.backward()\n        nn.utils.clip_grad_norm_(self.q_network.parameters(), 10.0)\n",
        ),
    ),
    "another activation": (("nn.ReLU()", "nn.GELU()"),),
    "layer norms": ((", 120),\n", ", 120),\n            nn.LayerNorm(120),\n"),),
    "no bias": (("nn.Linear(120, 84)", "nn.Linear(120, 84, bias=False)"),),
    "no ends of episodes": (NO_DONES,),
    "another gamma": (OTHER_GAMMA,),
}
CRITIC_EDITS: Edits = {
    "another distance": (L1,),
    "a distance that flattens": (HUBER,),
    "no ends of episodes": (NO_DONES_OF_CRITICS,),
    "another gamma": (OTHER_GAMMA,),
    "another activation": (("x = F.relu(self.fc1(torch.cat", "x = F.gelu(self.fc1(torch.cat"),),
    "layer norms": (
        ("self.fc3 = nn.Linear(256, 1)", "self.fc3 = nn.Linear(256, 1)\n        self.norm = nn.LayerNorm(256)"),
        ("F.relu(self.fc2(x))", "F.relu(self.norm(self.fc2(x)))"),
    ),
    "layer norms without parameters": (("F.relu(self.fc2(x))", "F.relu(F.layer_norm(self.fc2(x), (256,)))"),),
    "a deeper network": (
        ("self.fc3 = nn.Linear(256, 1)", "self.fc3 = nn.Linear(256, 1)\n        self.fc4 = nn.Linear(256, 256)"),
        ("F.relu(self.fc2(x))", "F.relu(self.fc4(F.relu(self.fc2(x))))"),
    ),
    "a layer less": (
        ("        self.fc2 = nn.Linear(256, 256)\n        self.fc3", "        self.fc3"),
        ("F.relu(self.fc2(x))", "x"),
    ),
    "a clip of the gradient": (
        (
            "        self.optimizers[name].step()\n",
            "        nn.utils.clip_grad_norm_(self.agent.parameters(), 1.0)\n        self.optimizers[name].step()\n",
        ),
    ),
    "targets that follow faster": (('lerp_(value, inputs["tau"])', 'lerp_(value, 2 * inputs["tau"])'),),
}
TWO_CRITICS: Edits = {
    "a critic less": (("qf_loss = qf1_loss + qf2_loss", "qf_loss = qf1_loss"),),
    "a scaled loss": (("    return qf_loss, {", "    return 3 * qf_loss, {"),),
}
ADAM_OF_CRITICS = optimisers(
    "adam(agent.critics, learning_rate=args.learning_rate)", "agent.critics.parameters()", "args.learning_rate"
)
EDITS: dict[str, Edits] = {
    "dqn": {
        **Q_EDITS,
        **optimisers(
            "adam(q_network, learning_rate=args.learning_rate)", "q_network.parameters()", "args.learning_rate"
        ),
        "the loss is scaled": (("return nn.functional", "return 99 * nn.functional"),),
        "another distance": (L1,),
        "a distance that flattens": (HUBER,),
        "a term is added": (("return nn.functional", "return 0.01 * old_val.square().mean() + nn.functional"),),
        "the mean for the best": ((".max(dim=1).values", ".mean(dim=1)"),),
        "double Q-learning": (
            (
                'target_network.network(batch["next_obs"]).max(dim=1).values',
                'target_network.network(batch["next_obs"]).gather('
                '1, q_network.network(batch["next_obs"]).argmax(1)[:, None]).squeeze(1)',
            ),
        ),
        "no target network": (('target_network.network(batch["next_obs"])', 'q_network.network(batch["next_obs"])'),),
        "a target within bounds": (("    old_val = ", "    td_target = td_target.clamp(max=2.0)\n    old_val = "),),
        "the worst action": (WORST,),
        "a target that follows half": (("target.copy_(tau * value", "target.copy_(0.5 * tau * value"),),
    },
    "c51": {
        **Q_EDITS,
        "no ends of episodes": ((' * (1 - batch["dones"])[:, None]', ""),),
        "another optimiser": (
            (
                "adam(q_network, learning_rate=args.learning_rate, eps=0.01 / args.batch_size)",
                "adam(q_network, learning_rate=args.learning_rate)",
            ),
        ),
        "the loss is scaled": ((".sum(1).mean()\n    return loss", ".sum(1).mean() * 3\n    return loss"),),
        "another clamp": (("clamp(min=1e-5, max=1 - 1e-5)", "clamp(min=1e-3, max=1 - 1e-3)"),),
        "another distance": (
            (
                "-(target * old_pmfs.clamp(min=1e-5, max=1 - 1e-5).log()).sum(1).mean()",
                "(target - old_pmfs).square().sum(1).mean()",
            ),
        ),
        "the worst distribution": (
            ("target_network.values(every).argmax(1)", "target_network.values(every).argmin(1)"),
        ),
        "no target network": (("target_pmfs(self.target_network, tensors)", "target_pmfs(self.q_network, tensors)"),),
        "colder distributions": (("torch.softmax(self.network(obs)", "torch.softmax(0.5 * self.network(obs)"),),
        "the worst action": (('["obs"].float())).argmax(1)', '["obs"].float())).argmin(1)'),),
    },
    "sac_continuous_action": {
        **CRITIC_EDITS,
        **TWO_CRITICS,
        **optimisers("adam(agent.critics, learning_rate=args.q_lr)", "agent.critics.parameters()", "args.q_lr"),
        "the higher critic": (("torch.min(*agent.targets", "torch.max(*agent.targets"),),
        "no entropy in the target": ((" - alpha * next_logprob", ""),),
        "a hundredth more entropy": (("(alpha * logprob - ", "(1.01 * alpha * logprob - "),),
        "no entropy for the actor": (("(alpha * logprob - ", "(-"),),
        "the first critic": (("torch.min(*agent.critics(obs, actions))", "agent.critics(obs, actions)[0]"),),
        "another loss of alpha": ((".exp() * (logprob", " * (logprob"),),
        "no Jacobian": (("        logprob = logprob - torch.log(self.action_scale * (1 - y**2) + 1e-6)\n", ""),),
        "another spread": (("0.5 * (LOG_STD_MAX - LOG_STD_MIN)", "0.4 * (LOG_STD_MAX - LOG_STD_MIN)"),),
        "acting without noise": (("(obs, self.noise(len(obs)))[0]}", "(obs, 0 * self.noise(len(obs)))[0]}"),),
    },
    "td3_continuous_action": {
        **CRITIC_EDITS,
        **TWO_CRITICS,
        **ADAM_OF_CRITICS,
        "the higher critic": (("torch.min(*agent.target", "torch.max(*agent.target"),),
        "no noise of the target": ((" + clipped_noise * agent.actor.action_scale", ""),),
        "noise without a limit": (('.clamp(-batch["noise_clip"], batch["noise_clip"])', ""),),
        "the actor for its target": (("agent.target_actor(batch", "agent.actor(batch"),),
        "an actor with a penalty": (
            ("agent.actor(obs)).mean()", "agent.actor(obs)).mean() + 0.1 * agent.actor(obs).square().mean()"),
        ),
        "the lower critic for the actor": (
            ("-agent.critics.qf1(obs, agent.actor(obs))", "-torch.min(*agent.critics(obs, agent.actor(obs)))"),
        ),
        "acting with other noise": (("noise = self.noise(len(obs))", "noise = self.noise(len(obs)).abs()"),),
    },
    "ddpg_continuous_action": {
        **CRITIC_EDITS,
        "a scaled loss": (("    return qf1_loss, {", "    return 3 * qf1_loss, {"),),
        "the critic for its target": (("agent.target_qf1(batch", "agent.qf1(batch"),),
        "an actor twice as keen": (("agent.actor(obs)).mean()", "agent.actor(obs)).mean() * 2"),),
        "no tanh": (("torch.tanh(self.fc_mu(x))", "self.fc_mu(x)"),),
        "acting beyond the bounds": (("actor.within_bounds(actor(obs) + noise)", "actor(obs) + noise"),),
    },
}


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trained]:
    """Each file as it is, by its fast path."""
    return {
        algo: trained(edited(algo, folder := tmp_path_factory.mktemp(algo)), algo, folder, settings)
        for algo, settings in SETTINGS.items()
    }


@pytest.mark.parametrize(
    ("algo", "edit"), [(algo, edit) for algo, edits in EDITS.items() for edit in edits], ids=lambda part: part
)
def test_an_edit_is_trained_and_told(algo: str, edit: str, tmp_path: Path, untouched: dict[str, Trained]) -> None:
    module = edited(algo, tmp_path, *EDITS[algo][edit])
    found = trained(module, algo, tmp_path, SETTINGS[algo])
    expected = trained(without_fast_path(module), algo, tmp_path, SETTINGS[algo])
    assert [one for one in found.warnings if f"the loss of {algo}.py differs from its fast path" in one]
    assert found.follows(expected, rather_than=untouched[algo])
    for name, values in expected.logged.items():
        if name.startswith("losses/"):
            np.testing.assert_allclose(found.logged[name], values, rtol=0.02, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("algo", SETTINGS)
def test_an_untouched_file_trains_by_its_fast_path(algo: str, untouched: dict[str, Trained]) -> None:
    assert untouched[algo].warnings == []


@pytest.mark.parametrize(
    ("algo", "change"),
    [
        ("dqn", ("gamma=args.gamma)", "gamma=args.gamma * global_step / 200)")),
        ("dqn", ("update_target(args.tau)", "update_target(50 / run.global_step)")),
        ("dqn", ("nn.ReLU()", "nn.Tanh()")),
        ("dqn", ("nn.Linear(120, 84)", "nn.Linear(120, 30), nn.ReLU(), nn.Linear(30, 84)")),
        ("c51", ("learning_rate=args.learning_rate, g", "learning_rate=args.learning_rate * global_step / 9, g")),
        ("sac_continuous_action", ("= -5.0, 2.0", "= -20.0, 2.0")),
        ("sac_continuous_action", ("Coefficients(args.policy_lr", "Coefficients(args.policy_lr * global_step / 9")),
        ("td3_continuous_action", ("args.exploration_noise)", "args.exploration_noise * run.global_step / 50)")),
        ("td3_continuous_action", ("args.policy_noise,", "0.1 * args.policy_noise,")),
        ("ddpg_continuous_action", ("args.gamma, args.tau", "args.gamma / 2, 0.5")),
    ],
    ids=lambda part: part if isinstance(part, str) else part[1],
)
def test_a_schedule_and_a_network_that_the_fast_path_knows_cost_nothing(
    algo: str, change: tuple[str, str], tmp_path: Path, untouched: dict[str, Trained]
) -> None:
    module = edited(algo, tmp_path, change)
    found = trained(module, algo, tmp_path, SETTINGS[algo])
    expected = trained(without_fast_path(module), algo, tmp_path, SETTINGS[algo])
    assert found.warnings == []
    assert found.distance(untouched[algo]) > 1e-5 * float(np.linalg.norm(found.weights))
    assert found.follows(expected, rather_than=untouched[algo])
