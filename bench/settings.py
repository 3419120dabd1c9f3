"""Equal settings: what our flags are called in Stable-Baselines3, and where the two cannot be equal.

The values come from our own `Args`, so that a default that changes here changes on both sides. What SB3 cannot be told
is listed beside each algorithm; docs/benchmarks.md repeats it.
"""

import importlib
from typing import Any, TypeAlias

Spec: TypeAlias = dict[str, Any]
"""What `bench.sb3` builds a model from; plain JSON, so that its process imports nothing of ours."""


def args_of(algo: str, overrides: dict[str, Any]) -> Any:
    return importlib.import_module(f"cleanrl_worker.algorithms.{algo}").Args(**overrides)


def spec_of(algo: str, overrides: dict[str, Any]) -> Spec:
    args = args_of(algo, overrides)
    name, settings = _TABLES[algo]
    return {
        "model": name,
        "env_id": args.env_id,
        "num_envs": args.num_envs,
        "seed": args.seed,
        "total_timesteps": args.total_timesteps,
        **settings(args),
    }


def ppo(args: Any) -> Spec:
    """Not equal:
    - SB3 bootstraps the value of an episode that was cut off by its time limit; CleanRL does not. We can be told to.
    - SB3's clipped value loss is that of the clipped value alone, CleanRL's the larger of both.
    """
    assert args.target_kl is None, "SB3 stops at 1.5 times its target_kl"
    return {
        "kwargs": {
            "learning_rate": args.learning_rate,
            "n_steps": args.num_steps,
            "batch_size": args.minibatch_size,
            "n_epochs": args.update_epochs,
            "gamma": args.gamma,
            "gae_lambda": args.gae_lambda,
            "clip_range": args.clip_coef,
            "clip_range_vf": args.clip_coef if args.clip_vloss else None,
            "normalize_advantage": args.norm_adv,
            "ent_coef": args.ent_coef,
            # CleanRL halves the squared error, SB3 does not.
            "vf_coef": args.vf_coef / 2,
            "max_grad_norm": args.max_grad_norm,
        },
        "policy_kwargs": {
            "net_arch": {"pi": [64, 64], "vf": [64, 64]},
            "activation_fn": "Tanh",
            # Gains of √2, 0.01 (actions) and 1 (value), as in our layer_init.
            "ortho_init": True,
            "optimizer_kwargs": {"eps": 1e-5},
        },
        # SB3 asks its schedule after the rollout, when one iteration more has passed than CleanRL counts.
        "anneal_from": 1 + args.batch_size / args.total_timesteps if args.anneal_lr else None,
    }


def ppo_atari(args: Any) -> Spec:
    """Not equal, beside `ppo`:
    - SB3 makes a picture grey after it has merged two frames in colour; ours come grey from the emulator.
    """
    spec = ppo(args)
    # SB3's CnnPolicy has our network: three convolutions and a hidden layer for both, then a layer for each.
    return spec | {"atari": True, "policy_kwargs": {"ortho_init": True, "optimizer_kwargs": {"eps": 1e-5}}}


def dqn_atari(args: Any) -> Spec:
    """Not equal, beside `dqn` and the pictures of `ppo_atari`:
    - SB3's buffer holds two stacks of each step.
    """
    return dqn(args) | {"atari": True, "policy_kwargs": {}}


def ppo_continuous_action(args: Any) -> Spec:
    """Not equal, beside `ppo`:
    - VecNormalize learns from the first observation of an episode but not from its last; Gymnasium's wrappers, and we,
      learn from both.
    - VecNormalize starts the discounted return anew after a truncation as well.
    """
    spec = ppo(args)
    spec["policy_kwargs"]["log_std_init"] = 0.0
    spec["vec_normalize"] = {"gamma": args.gamma, "clip_obs": 10.0, "clip_reward": 10.0, "epsilon": 1e-8}
    return spec


def dqn(args: Any) -> Spec:
    """Not equal:
    - SB3's loss is Huber's (smooth L1), CleanRL's the mean squared error; the cost is the same.
    - SB3 always measures the gradient's norm; the infinite limit leaves the gradient as it is.
    """
    return {
        "kwargs": _off_policy(args, args.learning_rate)
        | {
            "train_freq": args.train_frequency,
            "target_update_interval": args.target_network_frequency,
            "exploration_initial_eps": args.start_e,
            "exploration_final_eps": args.end_e,
            "exploration_fraction": args.exploration_fraction,
            "max_grad_norm": float("inf"),
        },
        "policy_kwargs": {"net_arch": [120, 84], "activation_fn": "ReLU"},
    }


def sac_continuous_action(args: Any) -> Spec:
    """Not equal:
    - SB3 has one learning rate for all and one policy step a critic step; so our side gets `q_lr = policy_lr` and
      `policy_frequency = 1` here instead of CleanRL's 1e-3 and 2.
    - CleanRL, and we, draw new actions for alpha's loss, a pass of the actor more; SB3 takes those of the actor's loss.
    - CleanRL's alpha loss has exp(log_alpha) where SB3's has log_alpha.
    - CleanRL bends log_std by tanh into [-5, 2], SB3 clips it to [-20, 2].
    """
    assert args.q_lr == args.policy_lr, "SB3 has one learning rate"
    assert args.policy_frequency == 1, "SB3 updates actor and critics alike"
    return {
        "kwargs": _off_policy(args, args.policy_lr)
        | {
            "target_update_interval": args.target_network_frequency,
            "ent_coef": "auto" if args.autotune else args.alpha,
            "target_entropy": "auto",
        },
        "policy_kwargs": {"net_arch": [256, 256], "activation_fn": "ReLU", "n_critics": 2},
    }


def td3_continuous_action(args: Any) -> Spec:
    """Not equal:
    - SB3 measures policy noise and its limit in units of half the action range, as we do, because it scales actions to
      [-1, 1]; so its critics see scaled actions, ours those of the environment. Pendulum's range is [-2, 2].
    """
    return _deterministic(args, n_critics=2) | {
        "kwargs": _off_policy(args, args.learning_rate)
        | {
            "policy_delay": args.policy_frequency,
            "target_policy_noise": args.policy_noise,
            "target_noise_clip": args.noise_clip,
        }
    }


def ddpg_continuous_action(args: Any) -> Spec:
    """Not equal: as TD3. SB3's DDPG updates its actor at every step: `policy_frequency` is 1 on our side too here."""
    assert args.policy_frequency == 1, "SB3's DDPG has no delay"
    return _deterministic(args, n_critics=1) | {"kwargs": _off_policy(args, args.learning_rate)}


def _deterministic(args: Any, *, n_critics: int) -> Spec:
    return {
        "action_noise": args.exploration_noise,
        "policy_kwargs": {"net_arch": [256, 256], "activation_fn": "ReLU", "n_critics": n_critics},
    }


def _off_policy(args: Any, learning_rate: float) -> Spec:
    return {
        "learning_rate": learning_rate,
        "buffer_size": args.buffer_size,
        "learning_starts": args.learning_starts,
        "batch_size": args.batch_size,
        "tau": args.tau,
        "gamma": args.gamma,
        "train_freq": 1,
        "gradient_steps": 1,
    }


_TABLES = {
    "ppo": ("PPO", ppo),
    "ppo_continuous_action": ("PPO", ppo_continuous_action),
    "dqn": ("DQN", dqn),
    "sac_continuous_action": ("SAC", sac_continuous_action),
    "ppo_atari": ("PPO", ppo_atari),
    "dqn_atari": ("DQN", dqn_atari),
    "td3_continuous_action": ("TD3", td3_continuous_action),
    "ddpg_continuous_action": ("DDPG", ddpg_continuous_action),
}
