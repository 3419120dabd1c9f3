"""Microseconds of one minibatch update and of acting: the numpy fast path against eager torch, in alternation.

    OMP_NUM_THREADS=1 python bench/micro_fast.py

"network" is forward, backward and Adam with a given gradient by the outputs; "update" adds the loss and the clipping.
"""

import copy
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from torch import nn

from cleanrl_worker.sdk.fast import Adam, FlatParameters, Mlp, clip_gradient_norm, dqn_gradient, ppo_gradient

ROUNDS = 9


def network(*sizes: int, activation: type[nn.Module]) -> nn.Sequential:
    modules: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        modules += [nn.Linear(inputs, outputs), activation()]
    return nn.Sequential(*modules[:-1])


def microseconds(call: Callable[[], object], seconds: float = 0.05) -> float:
    calls, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        for _ in range(10):
            call()
        calls += 10
    return elapsed / calls * 1e6


def compare(label: str, fast: Callable[[], object], eager: Callable[[], object]) -> None:
    pairs = [(microseconds(fast), microseconds(eager)) for _ in range(ROUNDS)]
    fast_us, eager_us = (float(np.median(column)) for column in zip(*pairs, strict=True))
    ratio = float(np.median([slow / quick for quick, slow in pairs]))
    print(f"{label:32s} numpy {fast_us:7.1f} µs   torch {eager_us:7.1f} µs   × {ratio:.1f}")


class Case:
    """The same networks twice: under numpy and under torch."""

    def __init__(self, networks: dict[str, nn.Sequential], rows: int, *, eps: float) -> None:
        self.eager = nn.ModuleDict(networks)
        self.logstd = nn.Parameter(torch.zeros(1, 6))
        agent = copy.deepcopy(self.eager)
        self.flat = FlatParameters(agent)
        self.fast = {name: Mlp(self.flat, agent[name], name) for name in networks}
        self.adam = Adam(self.flat, eps=eps)
        self.optimizer = torch.optim.Adam([*self.eager.parameters(), self.logstd], lr=1e-4, eps=eps)
        rng = np.random.default_rng(0)
        self.normal = partial(rng.standard_normal, dtype=np.float32)
        self.x = self.normal((rows, next(iter(networks.values()))[0].in_features))
        self.torch_x = torch.from_numpy(self.x)
        self.outputs = {name: sequential(self.torch_x) for name, sequential in networks.items()}
        self.grads = {name: self.normal(tuple(output.shape)) for name, output in self.outputs.items()}
        self.torch_grads = [torch.from_numpy(grad) for grad in self.grads.values()]

    def compare_network(self, label: str) -> None:
        def fast() -> None:
            for name, mlp in self.fast.items():
                mlp.forward(self.x)
                mlp.backward(self.grads[name])
            self.adam.step(1e-4)

        def eager() -> None:
            self.optimizer.zero_grad()
            torch.autograd.backward([net(self.torch_x) for net in self.eager.values()], self.torch_grads)
            self.optimizer.step()

        compare(f"{label}: network", fast, eager)

    def compare_acting(self, label: str, name: str, rows: int) -> None:
        x = self.x[:rows].copy()

        def eager() -> None:
            with torch.no_grad():
                self.eager[name](torch.from_numpy(x)).numpy()

        compare(f"{label}: act on {rows}", lambda: self.fast[name].infer(x), eager)

    def compare_ppo(self, label: str, *, discrete: bool) -> None:
        rows, width = self.grads["actor"].shape
        actions = np.random.default_rng(0).integers(0, width, rows) if discrete else self.normal((rows, width))
        advantages, returns, old_values, old_logprob = (self.normal(rows) for _ in range(4))
        logstd = np.zeros((1, width), np.float32)
        batch = [torch.from_numpy(array) for array in (actions, advantages, returns, old_values, old_logprob)]

        def fast() -> None:
            out = self.fast["actor"].forward(self.x)
            if discrete:
                grad = ppo_gradient.categorical(out, actions, old_logprob, advantages, clip_coef=0.2, ent_coef=0.01)[0]
            else:
                grad = ppo_gradient.gaussian(
                    out, logstd, actions, old_logprob, advantages, clip_coef=0.2, ent_coef=0.0
                ).grad_mean
            self.fast["actor"].backward(grad)
            new = self.fast["critic"].forward(self.x)
            grad, _ = ppo_gradient.value(new, returns, old_values, clip_coef=0.2, clip_vloss=True, vf_coef=0.5)
            self.fast["critic"].backward(grad)
            clip_gradient_norm(self.flat.gradient, 0.5)
            self.adam.step(1e-4)

        def eager() -> None:
            torch_actions, torch_advantages, torch_returns, torch_old_values, torch_old = batch
            out = self.eager["actor"](self.torch_x)
            if discrete:
                policy = torch.distributions.Categorical(logits=out)
                logprob, entropy = policy.log_prob(torch_actions), policy.entropy()
            else:
                policy = torch.distributions.Normal(out, self.logstd.expand_as(out).exp())
                logprob, entropy = policy.log_prob(torch_actions).sum(1), policy.entropy().sum(1)
            logratio = logprob - torch_old
            ratio = logratio.exp()
            with torch.no_grad():
                (-logratio).mean(), ((ratio - 1) - logratio).mean(), ((ratio - 1).abs() > 0.2).float().mean().item()
            clipped = torch.clamp(ratio, 0.8, 1.2)
            pg_loss = torch.max(-torch_advantages * ratio, -torch_advantages * clipped).mean()
            new = self.eager["critic"](self.torch_x).view(-1)
            v_clipped = torch_old_values + torch.clamp(new - torch_old_values, -0.2, 0.2)
            v_loss = 0.5 * torch.max((new - torch_returns) ** 2, (v_clipped - torch_returns) ** 2).mean()
            self.optimizer.zero_grad()
            (pg_loss - 0.01 * entropy.mean() + 0.5 * v_loss).backward()
            nn.utils.clip_grad_norm_(self.eager.parameters(), 0.5)
            self.optimizer.step()

        compare(f"{label}: update", fast, eager)

    def compare_dqn(self, label: str) -> None:
        rows, width = self.grads["q"].shape
        actions, target = np.random.default_rng(0).integers(0, width, rows), self.normal(rows)
        torch_actions, torch_target = torch.from_numpy(actions)[:, None], torch.from_numpy(target)

        def fast() -> None:
            q_network = self.fast["q"]
            q_network.backward(dqn_gradient.td_loss(q_network.forward(self.x), actions, target).grad_q_values)
            self.adam.step(1e-4)

        def eager() -> None:
            chosen = self.eager["q"](self.torch_x).gather(1, torch_actions).squeeze()
            loss = nn.functional.mse_loss(torch_target, chosen)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

        compare(f"{label}: update", fast, eager)


def main() -> None:
    torch.set_num_threads(1)
    for label, rows, inputs, outputs in (("ppo CartPole", 128, 4, 2), ("ppo HalfCheetah", 64, 17, 6)):
        sizes = {"actor": outputs, "critic": 1}
        networks = {name: network(inputs, 64, 64, k, activation=nn.Tanh) for name, k in sizes.items()}
        case = Case(networks, rows, eps=1e-5)
        case.compare_network(label)
        case.compare_ppo(label, discrete=outputs == 2)
        case.compare_acting(label, "actor", 4 if outputs == 2 else 1)
    case = Case({"q": network(4, 120, 84, 2, activation=nn.ReLU)}, 128, eps=1e-8)
    case.compare_network("dqn CartPole")
    case.compare_dqn("dqn CartPole")
    case.compare_acting("dqn CartPole", "q", 1)


if __name__ == "__main__":
    main()
