"""The same PPO on the same CartPole in JAX, written as its users do: the measure beside ppo_resident on one GPU.

    python bench/jax_resident.py --num-envs 8192 --iterations 200

Everything is one `jit`: a scan over iterations, each a scan over steps and over epochs and minibatches. Networks,
hyperparameters, the clipping of gradients and Adam are those of `ppo_resident.py`. It imports nothing of this project.
"""

# pyright: basic, reportMissingImports=false
# This project does not depend on JAX: it is there where this runs.
import argparse
import json
import time
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

T, EPOCHS, MINIBATCHES = 32, 4, 4
GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, LONGEST, RATE = 0.99, 0.95, 0.2, 0.01, 0.5, 0.5, 1e-3


class Carts(NamedTuple):
    state: Any
    lengths: Any
    totals: Any


def begin(key: Any, copies: int) -> Any:
    return jax.random.uniform(key, (4, copies), minval=-0.05, maxval=0.05)


def step(carts: Carts, actions: Any, key: Any) -> tuple[Carts, Any]:
    x, speed, angle, turn = carts.state
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    force = jnp.where(actions == 1, 10.0, -10.0)
    push = (force + 0.05 * turn**2 * sin) / 1.1
    turn_change = (9.8 * sin - cos * push) / (0.5 * (4.0 / 3.0 - 0.1 * cos**2 / 1.1))
    speed_change = push - 0.05 * turn_change * cos / 1.1
    state = jnp.stack([x + 0.02 * speed, speed + 0.02 * speed_change, angle + 0.02 * turn, turn + 0.02 * turn_change])
    lengths, totals = carts.lengths + 1, carts.totals + 1.0
    over = (jnp.abs(state[0]) > 2.4) | (jnp.abs(state[2]) > 12 * 2 * jnp.pi / 360) | (lengths >= 500)
    goes_on = jnp.where(over, begin(key, len(over)), state)
    return Carts(goes_on, jnp.where(over, 0, lengths), jnp.where(over, 0.0, totals)), (over, totals)


def network(key: Any, sizes: tuple[int, ...], last: float) -> list[Any]:
    layers: list[Any] = []
    for place, (inputs, outputs) in enumerate(pairwise(sizes)):
        key, own = jax.random.split(key)
        scale = last if place == len(sizes) - 2 else 2**0.5
        layers.append((jax.nn.initializers.orthogonal(scale)(own, (inputs, outputs)), jnp.zeros(outputs)))
    return layers


def forward(layers: list[Any], x: Any) -> Any:
    for weight, bias in layers[:-1]:
        x = jnp.tanh(x @ weight + bias)
    return x @ layers[-1][0] + layers[-1][1]


def loss_of(parameters: Any, batch: Any) -> Any:
    obs, actions, logprobs, advantages, returns, values = batch
    advantages = (advantages - advantages.mean()) / (advantages.std(ddof=1) + 1e-8)
    logs = jax.nn.log_softmax(forward(parameters["actor"], obs))
    entropy = -(jnp.exp(logs) * logs).sum(1).mean()
    ratio = jnp.exp(jnp.take_along_axis(logs, actions[:, None], 1)[:, 0] - logprobs)
    policy = jnp.maximum(-advantages * ratio, -advantages * jnp.clip(ratio, 1 - CLIP, 1 + CLIP)).mean()
    value = forward(parameters["critic"], obs)[:, 0]
    clipped = values + jnp.clip(value - values, -CLIP, CLIP)
    errors = jnp.maximum((value - returns) ** 2, (clipped - returns) ** 2)
    return policy - ENTROPY * entropy + VALUE * 0.5 * errors.mean()


def descend(training: Any, batch: Any, rate: Any) -> Any:
    parameters, first, second, count = training
    gradients = jax.grad(loss_of)(parameters, batch)
    length = jnp.sqrt(sum((leaf**2).sum() for leaf in jax.tree.leaves(gradients)))
    gradients = jax.tree.map(lambda leaf: leaf * jnp.minimum(1.0, LONGEST / (length + 1e-6)), gradients)
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
    parameters = jax.tree.map(
        lambda p, m, v: p - rate * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-5),
        parameters,
        first,
        second,
    )
    return parameters, first, second, count


def train(key: Any, carts: Carts, training: Any, *, copies: int, iterations: int) -> Any:
    rows = copies * T // MINIBATCHES

    def play(held: Any, key: Any) -> Any:
        carts, parameters = held
        choosing, beginning = jax.random.split(key)
        obs = carts.state.T
        logits = forward(parameters["actor"], obs)
        actions = jax.random.categorical(choosing, logits)
        carts, (over, totals) = step(carts, actions, beginning)
        logprobs = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[:, None], 1)[:, 0]
        values = forward(parameters["critic"], obs)[:, 0]
        return (carts, parameters), (obs, actions, logprobs, values, over, totals)

    def iterate(held: Any, number: Any) -> Any:
        key, carts, training = held
        key, playing, shuffling = jax.random.split(key, 3)
        (carts, _), (obs, actions, logprobs, values, over, totals) = jax.lax.scan(
            play, (carts, training[0]), jax.random.split(playing, T)
        )
        last = forward(training[0]["critic"], carts.state.T)[:, 0]

        def back(following: Any, row: Any) -> Any:
            advantage, next_value = following
            value, ends = row
            goes_on = 1.0 - ends
            advantage = 1.0 + GAMMA * next_value * goes_on - value + GAMMA * LAMBDA * goes_on * advantage
            return (advantage, value), advantage

        _, advantages = jax.lax.scan(back, (jnp.zeros(copies), last), (values, over.astype(jnp.float32)), reverse=True)
        flat = (obs, actions, logprobs, advantages, advantages + values, values)
        flat = tuple(field.reshape(copies * T, *field.shape[2:]) for field in flat)
        rate = RATE * (1.0 - number / iterations)

        def epoch(training: Any, key: Any) -> Any:
            order = jax.random.permutation(key, copies * T)
            cut = tuple(field[order].reshape(MINIBATCHES, rows, *field.shape[1:]) for field in flat)
            return jax.lax.scan(lambda held, batch: (descend(held, batch, rate), None), training, cut)

        training, _ = jax.lax.scan(epoch, training, jax.random.split(shuffling, EPOCHS))
        ended = over.sum()
        return (key, carts, training), (totals * over).sum() / jnp.maximum(ended, 1)

    return jax.lax.scan(iterate, (key, carts, training), jnp.arange(iterations))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--num-envs", type=int, default=8192)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    copies, iterations = arguments.num_envs, arguments.iterations
    key = jax.random.key(1)
    parameters = {"actor": network(key, (4, 64, 64, 2), 0.01), "critic": network(key, (4, 64, 64, 1), 1.0)}
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    carts = Carts(begin(key, copies), jnp.zeros(copies, jnp.int32), jnp.zeros(copies))
    whole = jax.jit(lambda key, carts, training: train(key, carts, training, copies=copies, iterations=iterations))
    started = time.perf_counter()
    compiled = whole.lower(key, carts, (parameters, zeros, zeros, jnp.zeros(()))).compile()
    compile_s = time.perf_counter() - started
    for repeat in range(arguments.repeats):
        started = time.perf_counter()
        _, returns = compiled(jax.random.key(repeat), carts, (parameters, zeros, zeros, jnp.zeros(())))
        returns.block_until_ready()
        seconds = time.perf_counter() - started
        solved = jnp.argmax(returns >= 475)
        row = {
            "what": "jax",
            "num_envs": copies,
            "steps_per_s": round(copies * T * iterations / seconds),
            "return": float(returns[-1]),
            "s_to_475": float(seconds * (solved + 1) / iterations) if returns.max() >= 475 else None,
            "compile_s": round(compile_s, 1),
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
