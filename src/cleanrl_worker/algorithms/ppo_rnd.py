"""PPO with random network distillation, for rare rewards on pictures (docs/algorithms/ppo_rnd.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from annotated_types import Ge, Gt, Le
from torch import nn
from torch.distributions.categorical import Categorical

from cleanrl_worker.sdk import Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.convolution import features, laid_out, rounded_once
from cleanrl_worker.sdk.explained import of_choices
from cleanrl_worker.sdk.fast.ppo_gradient import gumbel
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.normalise import Moments
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import LikelyActions, of_pictures
from cleanrl_worker.sdk.vector import Envs
from mosaic import config
from mosaic.search_range import Search
from mosaic.spec.events import CheckpointReason

ACTIONS = "discrete"
OBSERVATIONS = "pixels"
UPSTREAM = None
CHUNK = 1024
"""Frames that are looked at in one go."""
LIMIT = 5.0
"""Normalised pictures are clipped to this."""
STILL = 0.01
"""The least deviation of a pixel, in grey levels."""
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """PPO that is also rewarded for what it has not seen before, for discrete actions and pictures."""

    env_id: str = "ALE/MontezumaRevenge-v5"
    """Gymnasium id of the environment."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the environments, the networks and the sampling."""
    torch_deterministic: bool = True
    """Ask cuDNN for deterministic kernels."""
    cuda: bool = True
    """Train on the GPU if there is one."""
    cuda_graph: bool = True
    """Record acting and the update of a minibatch as CUDA graphs and replay them; on a GPU only."""
    bfloat16: bool = False
    """Multiply in bfloat16, half the bits of float32: faster where processor or GPU have it, and less exact."""
    total_timesteps: Annotated[int, Ge(1)] = 2_000_000_000
    """Environment steps over all environments."""
    learning_rate: Annotated[float, Gt(0), Search(2e-5, 2e-3, "log")] = 1e-4
    """Step size of Adam."""
    num_envs: Annotated[int, Ge(1)] = 128
    """Environments stepped in parallel."""
    num_steps: Annotated[int, Ge(1), Search(32, 256, "power_of_two")] = 128
    """Steps in each environment between two updates."""
    anneal_lr: bool = True
    """Let the learning rate fall linearly to zero."""
    gamma: Annotated[float, Ge(0), Le(1), Search(0.99, 0.9999, "logit")] = 0.999
    """Discount factor of the environment's rewards."""
    gae_lambda: Annotated[float, Ge(0), Le(1), Search(0.8, 0.99, "logit")] = 0.95
    """Lambda of the generalised advantage estimation: 0 trusts the critic, 1 the returns."""
    num_minibatches: Annotated[int, Ge(1), Search(2, 16, "power_of_two")] = 4
    """Minibatches that a rollout is cut into."""
    update_epochs: Annotated[int, Ge(1), Search(1, 8)] = 4
    """Passes over each rollout."""
    norm_adv: bool = True
    """Normalise the advantages of each minibatch."""
    clip_coef: Annotated[float, Gt(0), Search(0.1, 0.4)] = 0.1
    """How far the policy may move from the one that collected the rollout, as a probability ratio."""
    clip_vloss: bool = True
    """Clip the value loss as well."""
    ent_coef: Annotated[float, Ge(0), Search(1e-5, 0.1, "log")] = 0.001
    """Weight of the entropy bonus."""
    vf_coef: Annotated[float, Ge(0), Search(0.2, 1.0)] = 0.5
    """Weight of the value loss."""
    max_grad_norm: Annotated[float, Gt(0), Search(0.3, 5.0, "log")] = 0.5
    """Gradients longer than this are scaled down to it."""
    target_kl: Annotated[float, Gt(0)] | None = None
    """Stop the epochs of an iteration once the approximate KL divergence exceeds this."""
    update_proportion: Annotated[float, Gt(0), Le(1)] = 0.25
    """Part of each minibatch that the predictor learns from."""
    int_coef: Annotated[float, Ge(0), Search(0.1, 4.0, "log")] = 1.0
    """Weight of the advantages of curiosity."""
    ext_coef: Annotated[float, Ge(0)] = 2.0
    """Weight of the advantages of the environment's rewards."""
    int_gamma: Annotated[float, Ge(0), Le(1)] = 0.99
    """Discount factor of curiosity."""
    num_iterations_obs_norm_init: Annotated[int, Ge(1)] = 50
    """Rollouts of random actions that the normaliser of pictures learns from before the first step."""

    def __post_init__(self) -> None:
        if self.num_minibatches > self.batch_size:
            raise ValueError(
                f"num_minibatches is {self.num_minibatches}, more than the {self.batch_size} steps of a rollout"
                " (num_envs × num_steps)"
            )
        if self.total_timesteps < self.batch_size:
            raise ValueError(
                f"total_timesteps is {self.total_timesteps}, less than the {self.batch_size} steps of one rollout"
                " (num_envs × num_steps): nothing would be learnt"
            )

    @property
    def batch_size(self) -> int:
        return self.num_envs * self.num_steps

    @property
    def minibatch_size(self) -> int:
        return self.batch_size // self.num_minibatches

    @property
    def num_iterations(self) -> int:
        return self.total_timesteps // self.batch_size

    @property
    def predicted_rows(self) -> int:
        return max(round(self.update_proportion * self.minibatch_size), 1)


def layer_init(layer: nn.Linear | nn.Conv2d, std: float = 2**0.5) -> nn.Module:
    nn.init.orthogonal_(layer.weight, std)
    assert layer.bias is not None
    nn.init.constant_(layer.bias, 0.0)
    return layer


def layers(*shape: tuple[int, int, float]) -> list[nn.Module]:
    """Linear layers (inputs, outputs, gain), each but the last followed by a ReLU."""
    made: list[nn.Module] = []
    for inputs, outputs, gain in shape:
        made += [layer_init(nn.Linear(inputs, outputs), gain), nn.ReLU(inplace=True)]
    return made[:-1]


def convolutions(channels: int, activation: type[nn.ReLU | nn.LeakyReLU]) -> list[nn.Module]:
    """84×84 pictures to 3136 features."""
    made: list[nn.Module] = []
    for layer in (nn.Conv2d(channels, 32, 8, stride=4), nn.Conv2d(32, 64, 4, stride=2), nn.Conv2d(64, 64, 3)):
        made += [layer_init(layer), activation(inplace=True)]
    return [*made, nn.Flatten()]


ROOT2 = 2**0.5


class Agent(nn.Module):
    """Convolutions and hidden layers, a policy, and two critics: of the environment's rewards and of curiosity."""

    def __init__(self, action_space: gym.Space[Any]) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Discrete)
        hidden = layers((64 * 7 * 7, 256, ROOT2), (256, 448, ROOT2))
        self.network = nn.Sequential(*convolutions(4, nn.ReLU), *hidden, nn.ReLU(inplace=True))
        self.extra_layer = nn.Sequential(*layers((448, 448, 0.1)), nn.ReLU(inplace=True))
        self.actor = nn.Sequential(*layers((448, 448, 0.01), (448, int(action_space.n), 0.01)))
        self.critic_ext = layer_init(nn.Linear(448, 1), 0.01)
        self.critic_int = layer_init(nn.Linear(448, 1), 0.01)

    def forward(self, obs: torch.Tensor, *, bfloat16: bool = False) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Logits, values and values of curiosity of uint8 stacks."""
        hidden = features(self.network, obs, bfloat16=bfloat16)
        judged = self.extra_layer(hidden) + hidden
        return self.actor(hidden), self.critic_ext(judged).view(-1), self.critic_int(judged).view(-1)


class Curiosity(nn.Module):
    """A network that is never trained, and one that learns to say what it says: badly for pictures that are new."""

    def __init__(self) -> None:
        super().__init__()
        features = layers((64 * 7 * 7, 512, ROOT2), (512, 512, ROOT2), (512, 512, ROOT2))
        self.predictor = nn.Sequential(*convolutions(1, nn.LeakyReLU), *features)
        self.target = nn.Sequential(*convolutions(1, nn.LeakyReLU), *layers((64 * 7 * 7, 512, ROOT2)))
        self.target.requires_grad_(False)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """The squared errors of normalised frames: (rows, features)."""
        return (self.predictor(frames) - self.target(frames)) ** 2


class Choice(NamedTuple):
    """What the agent chose at a step, and what it thought of it."""

    actions: torch.Tensor
    logprobs: torch.Tensor
    values: torch.Tensor
    int_values: torch.Tensor


class Coefficients(NamedTuple):
    """Numbers that may change from one update to the next: a schedule changes them in `train`."""

    learning_rate: float
    clip_coef: float
    ent_coef: float
    vf_coef: float


class Losses(NamedTuple):
    """What one minibatch logs."""

    value_loss: float
    policy_loss: float
    entropy: float
    old_approx_kl: float
    approx_kl: float
    fwd_loss: float


def gae(rewards: Array, values: Array, dones: Array, *, gamma: float, gae_lambda: float) -> tuple[Array, Array]:
    """Advantages and returns of a rollout of `steps` × `envs`; `values` has one row more.

    `dones[t]` tells that step t ended its episode, so that `values[t + 1]` belongs to the next one and nothing flows
    back from there (CleanRL stores the same flag one row later).
    """
    continues = 1.0 - dones
    deltas = rewards + gamma * values[1:] * continues - values[:-1]
    advantages = np.zeros_like(deltas)
    following = np.zeros_like(deltas[0])
    for step in reversed(range(len(deltas))):
        following = deltas[step] + gamma * gae_lambda * continues[step] * following
        advantages[step] = following
    return advantages, advantages + values[:-1]


def ppo_loss(
    agent: Agent, curiosity: Curiosity, batch: Mapping[str, torch.Tensor], args: Args
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """PPO's loss of a minibatch and the predictor's, and what is logged of them."""
    clip_coef = batch["clip_coef"]
    logits, value, int_value = agent(batch["obs"], bfloat16=args.bfloat16)
    distribution = Categorical(logits=logits, validate_args=False)
    entropy = distribution.entropy().mean()
    logratio = distribution.log_prob(batch["actions"]) - batch["logprobs"]
    ratio = logratio.exp()
    advantages = batch["advantages"]
    policy_loss = torch.max(-advantages * ratio, -advantages * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)).mean()
    errors = (value - batch["returns"]) ** 2
    if args.clip_vloss:
        change = torch.clamp(value - batch["values"], -clip_coef, clip_coef)
        errors = torch.max(errors, (batch["values"] + change - batch["returns"]) ** 2)
    value_loss = 0.5 * errors.mean() + 0.5 * ((int_value - batch["int_returns"]) ** 2).mean()
    fwd_loss = curiosity(batch["frames"]).mean()
    with torch.no_grad():
        logged = {
            "value_loss": value_loss,
            "policy_loss": policy_loss,
            "entropy": entropy,
            "old_approx_kl": (-logratio).mean(),
            "approx_kl": ((ratio - 1) - logratio).mean(),
            "fwd_loss": fwd_loss,
        }
    return policy_loss - batch["ent_coef"] * entropy + batch["vf_coef"] * value_loss + fwd_loss, logged


def normalised(advantages: torch.Tensor) -> torch.Tensor:
    """Zero mean and unit (sample) standard deviation; a lone advantage has neither and stays as it is."""
    if len(advantages) == 1:
        return advantages
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8)


class Learner:
    """Acting and updating."""

    def __init__(self, agent: Agent, curiosity: Curiosity, args: Args, device: torch.device) -> None:
        self.agent = laid_out(agent, device)
        self.curiosity = laid_out(curiosity, device)
        self.args = args
        self.device = device
        self.trained = nn.ModuleList([agent, curiosity.predictor])
        self.optimizer = adam(self.trained, learning_rate=args.learning_rate, eps=1e-5)
        self.inputs = Inputs(device)
        self.choose = Replayed(self.choice, device, enabled=args.cuda_graph)
        self.descend = Replayed(self.step, device, enabled=args.cuda_graph)

    @torch.no_grad()
    def choice(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        logits, values, int_values = self.agent(inputs["obs"], bfloat16=self.args.bfloat16)
        actions = (logits + inputs["noise"]).argmax(1)
        logprobs = logits.log_softmax(1).gather(1, actions[:, None]).squeeze(1)
        return {"actions": actions, "logprobs": logprobs, "values": values, "int_values": int_values}

    def act(self, obs: torch.Tensor, noise: Array) -> Choice:
        """What it returns is overwritten by the next call."""
        return Choice(**self.choose(self.inputs.put({"obs": obs, "noise": noise})))

    @torch.no_grad()
    def values(self, obs: torch.Tensor) -> torch.Tensor:
        """Of the environment's rewards and of curiosity: (2, rows)."""
        return torch.stack(self.agent(obs, bfloat16=self.args.bfloat16)[1:])

    @torch.no_grad()
    def surprise(self, frames: torch.Tensor) -> Array:
        """How new frames are: half the squared error of the predictor."""
        parts = [self.curiosity(part).sum(1) / 2 for part in frames.split(CHUNK)]
        return torch.cat(parts).cpu().numpy()

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        loss, logged = ppo_loss(self.agent, self.curiosity, minibatch_of(batch, self.args), self.args)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.trained.parameters(), self.args.max_grad_norm)
        self.optimizer.step()
        return {"losses": torch.stack([logged[name].detach() for name in Losses._fields])}

    def update(self, batch: Tensors, rows: Array, coefficients: Coefficients) -> torch.Tensor:
        """One minibatch; its `Losses` stay on the device until their numbers, or the next ones, are asked for."""
        set_learning_rate(self.optimizer, coefficients.learning_rate)
        numbers = {name: np.float32(value) for name, value in coefficients._asdict().items()}
        return self.descend({**batch, **self.inputs.put({"rows": rows, **numbers})})["losses"]

    def state(self) -> dict[str, Any]:
        networks = {"agent": self.agent.state_dict(), "curiosity": self.curiosity.state_dict()}
        return networks | {"optimizer": optimizer_state(self.optimizer)}

    def load(self, state: dict[str, Any]) -> None:
        self.agent.load_state_dict(state["agent"])
        self.curiosity.load_state_dict(state["curiosity"])
        load_optimizer(self.optimizer, state["optimizer"])


class Rollout:
    """What a rollout collects, where the update is computed; pictures as uint8, channels last."""

    def __init__(self, args: Args, shape: tuple[int, ...], device: torch.device) -> None:
        channels, height, width = shape
        rollout = (args.num_steps, args.num_envs)
        self._pictures = torch.zeros((*rollout, height, width, channels), dtype=torch.uint8, device=device)
        self.obs = self._pictures.permute(0, 1, 4, 2, 3)
        self.actions = torch.zeros(rollout, dtype=torch.int64, device=device)
        self.logprobs = torch.zeros(rollout, device=device)
        self.values = torch.zeros(rollout, device=device)
        self.int_values = torch.zeros(rollout, device=device)
        self.advantages = torch.zeros(rollout, device=device)
        self.returns = torch.zeros(rollout, device=device)
        self.int_returns = torch.zeros(rollout, device=device)

    def add(self, step: int, choice: Choice) -> None:
        self.actions[step] = choice.actions
        self.logprobs[step] = choice.logprobs
        self.values[step] = choice.values
        self.int_values[step] = choice.int_values

    @property
    def newest(self) -> torch.Tensor:
        """The newest frame of each stack: (steps, envs, height, width)."""
        return self._pictures[..., -1]

    def batch(self, advantages: Array, returns: Array, int_returns: Array) -> dict[str, torch.Tensor]:
        """Flattened over steps and environments; every time in the same memory."""
        self.advantages.copy_(torch.from_numpy(advantages))
        self.returns.copy_(torch.from_numpy(returns))
        self.int_returns.copy_(torch.from_numpy(int_returns))
        return {
            "obs": self._pictures.flatten(0, 1),
            "actions": self.actions.flatten(),
            "logprobs": self.logprobs.flatten(),
            "advantages": self.advantages.flatten(),
            "returns": self.returns.flatten(),
            "int_returns": self.int_returns.flatten(),
            "values": self.values.flatten(),
        }


def minibatch_of(batch: Tensors, args: Args) -> dict[str, torch.Tensor]:
    """The `rows` of a rollout. The predictor learns from the first of them, which are shuffled."""
    whole = ("rows", "pixel_mean", "pixel_scale", *Coefficients._fields)
    minibatch = {name: tensor.index_select(0, batch["rows"]) for name, tensor in batch.items() if name not in whole}
    minibatch |= {name: batch[name] for name in Coefficients._fields}
    frames = minibatch["obs"][: args.predicted_rows, ..., -1]
    minibatch["frames"] = normalised_pixels(frames, batch["pixel_mean"], batch["pixel_scale"])
    minibatch["obs"] = minibatch["obs"].permute(0, 3, 1, 2)
    if args.norm_adv:
        minibatch["advantages"] = normalised(minibatch["advantages"])
    return minibatch


def normalised_pixels(frames: torch.Tensor, mean: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """uint8 frames (rows, height, width) as floats with a channel."""
    return ((frames.float() - mean) * scale).clamp_(-LIMIT, LIMIT)[:, None]


class Novelty:
    """What is usual: the moments of each pixel, and the spread of the discounted sum of curiosity."""

    def __init__(self, shape: tuple[int, ...], num_envs: int, device: torch.device) -> None:
        self.pixels = Moments(shape[1:])
        self.returns = Moments(())
        self.running = np.zeros(num_envs)
        self.looks = 0
        """Rollouts of random actions that were made to begin with."""
        self.mean, self.scale = torch.zeros(shape[1:], device=device), torch.ones(shape[1:], device=device)
        self.renew()

    def learn(self, frames: Array) -> None:
        """Take in uint8 frames (rows, height, width); in parts, because they become float64."""
        for start in range(0, len(frames), CHUNK):
            self.pixels.update(frames[start : start + CHUNK])
        self.renew()

    def renew(self) -> None:
        # A pixel that never changes must not be divided by nothing.
        scale = 1 / np.sqrt(self.pixels.var).clip(min=STILL)
        self.mean.copy_(torch.from_numpy(self.pixels.mean[0]))
        self.scale.copy_(torch.from_numpy(scale[0]))

    def normalised(self, frames: torch.Tensor) -> torch.Tensor:
        return normalised_pixels(frames, self.mean, self.scale)

    def scaled(self, curiosity: Array, gamma: float) -> Array:
        """A rollout's curiosity (steps, envs) in units of its usual discounted sum."""
        sums = np.zeros(curiosity.shape)
        for step, rewards in enumerate(curiosity):
            self.running = sums[step] = gamma * self.running + rewards
        self.returns.update(sums.reshape(-1))
        return curiosity / np.float32(np.sqrt(self.returns.var[0]))

    def state(self) -> dict[str, Any]:
        moments = {"pixels": self.pixels.state(), "returns": self.returns.state()}
        return moments | {"running": self.running, "looks": self.looks}

    def load(self, state: Mapping[str, Any]) -> None:
        self.pixels.load(state["pixels"])
        self.returns.load(state["returns"])
        self.running = state["running"].copy()
        self.looks = state.get("looks", 0)  # Runs of earlier versions were saved when all had been made.
        self.renew()


def look_around(run: Run, envs: Envs, novelty: Novelty, args: Args) -> None:
    """A rollout of random actions, which do not count as steps, for the first moments of the pixels."""
    assert isinstance(envs.single_action_space, gym.spaces.Discrete)
    seen: list[Array] = []
    for actions in run.generator.integers(envs.single_action_space.n, size=(args.num_steps, args.num_envs)):
        seen.append(envs.step_aside(actions)[:, -1])
    novelty.learn(np.concatenate(seen))
    novelty.looks += 1


def train(run: Run, args: Args) -> None:
    envs = run.make_envs(args.env_id, args.num_envs, observations="pixels")
    observation_space, action_space = envs.single_observation_space, envs.single_action_space
    assert observation_space.shape is not None
    assert isinstance(action_space, gym.spaces.Discrete)
    agent = Agent(action_space)
    learner = Learner(agent, Curiosity(), args, run.device)
    novelty = Novelty(observation_space.shape, args.num_envs, run.device)
    rollout = Rollout(args, observation_space.shape, run.device)
    rewards = np.zeros((args.num_steps, args.num_envs), dtype=np.float32)
    dones = np.zeros_like(rewards)
    never = np.zeros_like(rewards)

    def save(iteration: int, reason: CheckpointReason) -> None:
        state = {"learner": learner.state(), "novelty": novelty.state(), "iteration": iteration}
        run.checkpoint(state, reason=reason)

    run.explain_with(lambda seen: of_choices(*agent(seen)[:2]))

    saved = run.resume()
    if saved is None:
        done = 0
        envs.backend.reset(seed=args.seed)
    else:
        learner.load(saved["learner"])
        novelty.load(saved["novelty"])
        done = saved["iteration"]

    if done == 0:
        while novelty.looks < args.num_iterations_obs_norm_init:
            look_around(run, envs, novelty, args)
            if reason := run.checkpoint_reason(ended=False):
                save(0, reason)
            if reason == "stop":
                run.save_policy(agent)
                return
        envs.reset(args.seed)
    obs = envs.current_obs

    for iteration in range(done + 1, args.num_iterations + 1):
        progress = (iteration - 1.0) / args.num_iterations if args.anneal_lr else 0.0
        coefficients = Coefficients(
            learning_rate=(1.0 - progress) * args.learning_rate,
            clip_coef=args.clip_coef,
            ent_coef=args.ent_coef,
            vf_coef=args.vf_coef,
        )

        # Collect.
        noise = gumbel(run.generator, (*rewards.shape, int(action_space.n)))
        last_pictures: list[Array] = []
        with rounded_once(run.device):
            for step in range(args.num_steps):
                rollout.obs[step] = torch.from_numpy(obs)
                choice = learner.act(rollout.obs[step], noise[step])
                rollout.add(step, choice)
                obs, rewards[step], terminations, truncations, infos = envs.step(choice.actions.cpu().numpy())
                dones[step] = terminations | truncations
                if infos:
                    last_pictures.append(infos["final_obs"][terminations | truncations, -1])

        # Be curious about what each step led to: at an end the episode's last picture, not the next one's first.
        last_obs = torch.as_tensor(obs, device=run.device)
        frames = torch.cat([rollout.newest[1:].flatten(0, 1), last_obs[:, -1]])
        if last_pictures:
            ends = torch.from_numpy(dones.reshape(-1) > 0).to(run.device)
            frames[ends] = torch.from_numpy(np.concatenate(last_pictures)).to(run.device)
        surprise = learner.surprise(novelty.normalised(frames)).reshape(rewards.shape)
        curiosity = novelty.scaled(surprise, args.int_gamma)

        # Estimate the advantages; to curiosity an episode's end is none, else it would fear to die.
        last = learner.values(last_obs)[:, None]
        values, int_values = (
            torch.cat([before, after]).cpu().numpy()
            for before, after in zip((rollout.values, rollout.int_values), last, strict=True)
        )
        advantages, returns = gae(rewards, values, dones, gamma=args.gamma, gae_lambda=args.gae_lambda)
        int_advantages, int_returns = gae(
            curiosity, int_values, never, gamma=args.int_gamma, gae_lambda=args.gae_lambda
        )
        advantages = args.ext_coef * advantages + args.int_coef * int_advantages
        batch = rollout.batch(advantages, returns, int_returns)
        batch |= {"pixel_mean": novelty.mean, "pixel_scale": novelty.scale}
        novelty.learn(rollout.newest.flatten(0, 1).cpu().numpy())

        # Improve.
        latest = torch.empty(0)
        for _ in range(args.update_epochs):
            shuffled = run.generator.permutation(args.batch_size)
            for start in range(0, args.batch_size, args.minibatch_size):
                latest = learner.update(batch, shuffled[start : start + args.minibatch_size], coefficients)
            if args.target_kl is not None and Losses(*latest.tolist()).approx_kl > args.target_kl:
                break

        losses = Losses(*latest.tolist())
        run.scalars(
            {
                "charts/learning_rate": coefficients.learning_rate,
                **{f"losses/{name}": value for name, value in losses._asdict().items()},
                "charts/episode_curiosity_reward": float(surprise.mean()),
                "charts/avg_episodic_return": run.mean_return(20),
                "charts/SPS": run.steps_per_second(),
            }
        )
        run.histograms({"agent": agent, "predictor": learner.curiosity.predictor})
        if reason := run.checkpoint_reason(ended=iteration == args.num_iterations):
            save(iteration, reason)
        if reason == "stop":
            break
    run.save_policy(agent)


def load(file: PolicyFile) -> Policy:
    config.from_json(Args, file.args, what="policy file")
    agent = Agent(file.action_space)
    agent.load_state_dict(file.weights())
    laid_out(agent, torch.device("cpu"))
    return LikelyActions(of_pictures(lambda observations: agent(observations)[0]))


if __name__ == "__main__":
    raise SystemExit(main("ppo_rnd"))
