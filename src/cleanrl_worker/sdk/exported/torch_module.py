"""A traced policy as a Python file that needs torch and numpy alone, and its weights beside it as safetensors.

The file has one line for each operation of the graph. Names and texts that come out of the policy file are written as
literals, and into the docstring as plain words: nothing in a policy file becomes code.
"""

import builtins
import keyword
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import fx

from cleanrl_worker.sdk.exported.traced_policy import TracedPolicy
from cleanrl_worker.sdk.policy import PolicyFile

LEFT_OUT = frozenset({"layout", "device", "pin_memory", "non_blocking", "memory_format"})
"""Words that change no number."""
WRITTEN: Mapping[str, str] = {
    "linear.default": "torch.nn.functional.linear",
    "view.default": "torch.reshape",
    "reshape.default": "torch.reshape",
    "_unsafe_view.default": "torch.reshape",
    **{
        f"{name}.{overload}": f"torch.{name}"
        for name, overload in (
            *((name, "Tensor") for name in ("add", "sub", "mul", "div", "clamp")),
            *(
                (name, "default")
                for name in ("argmax", "relu", "tanh", "exp", "sqrt", "cat", "stack", "clamp", "matmul")
            ),
            *(
                (name, "default")
                for name in ("conv1d", "conv2d", "layer_norm", "unsqueeze", "sigmoid", "any", "zeros", "clone")
            ),
            *((name, "int") for name in ("softmax", "select", "unbind")),
            *((name, "dim") for name in ("mean", "squeeze")),
            ("where", "self"),
            ("lstm", "input"),
        )
    },
}
"""Operations that stand in the file as a reader of torch knows them; all others by the name that torch has for them."""
TEXT = '''\
"""{about}

It needs torch and numpy, and {weights} beside it:

    from {module} import Policy

    policy = Policy()
    action = policy(observation)  # the likeliest action; or one for each row of a batch
{remembers}
Observations: {dtype} of shape {shape}, as the environment gives them{normalised}.
"""

import json
from pathlib import Path

import numpy as np
import torch

ALGORITHM = {algo}
ENVIRONMENT = {env_id}
STEPS = {steps}
OBSERVATION_SHAPE = {shape}
OBSERVATION_DTYPE = {dtype}
MEMORY = {memory}
"""Shape of what each row remembers; zeros at the beginning of an episode."""


class Policy:
    def __init__(self, path=Path(__file__).with_name({weights_literal})):
        self.weights = read_weights(Path(path))
        self.forget()

    def forget(self):
        """The next observation begins an episode."""
        self.memory = None

    @torch.no_grad()
    def __call__(self, observation):
        """The action of an observation, or of each row of a batch; an array."""
        rows = torch.as_tensor(np.asarray(observation)).to(OBSERVATION_DTYPE)
        is_one = tuple(rows.shape) == OBSERVATION_SHAPE
        rows = rows[None] if is_one else rows
        if self.memory is None or (self.memory and len(self.memory[0]) != len(rows)):
            self.memory = [torch.zeros(len(rows), *shape) for shape in MEMORY.values()]
        actions, *self.memory = self.actions(rows, *self.memory)
        return actions.numpy()[0] if is_one else actions.numpy()

    def actions({arguments}):
        """Actions of a batch of observations{and_memory}, as tensors."""
        w = self.weights
{body}
        return {results}


def read_weights(path):
    """The tensors of a safetensors file: a length, a header in JSON with their places, and their bytes."""
    kinds = {{"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "I64": torch.int64, "U8": torch.uint8}}
    kinds |= {{"I32": torch.int32, "BOOL": torch.bool}}
    data = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    weights = {{}}
    for name, about in json.loads(data[8:start]).items():
        if name != "__metadata__":
            begin, end = (start + place for place in about["data_offsets"])
            weights[name] = torch.frombuffer(data[begin:end], dtype=kinds[about["dtype"]]).reshape(about["shape"])
    return weights
'''


def source_of(file: PolicyFile, traced: TracedPolicy, *, about: str, module: str, weights: str) -> str:
    """The Python file; `weights` is the name of the file of weights."""
    writer = _Writer(traced)
    body = [line for node in traced.program.graph.nodes if (line := writer.line(node))]
    remembers = (
        "    policy.forget()               # the next observation is the first one of an episode\n"
        if traced.memory
        else ""
    )
    return TEXT.format(
        about=plain_words(about),
        module=module if module.isidentifier() else "policy",
        weights=plain_words(weights),
        weights_literal=repr(weights),
        remembers=remembers,
        dtype=traced.observation_dtype,
        shape=repr(traced.observation_shape),
        normalised=", not normalised: this file does that" if "observation_normaliser.mean" in file.arrays else "",
        algo=ascii(file.algo),
        env_id=ascii(file.env_id),
        steps=file.global_step,
        memory=repr(dict(traced.memory)),
        arguments=", ".join(["self", *writer.arguments]),
        and_memory=" and of what each row remembers" if traced.memory else "",
        body="\n".join(f"        {line}" for line in body),
        results=writer.results,
    )


def plain_words(text: str) -> str:
    """Text for a docstring: nothing in it ends the docstring or escapes."""
    return re.sub(r"[^\w .,:;!?()/@+=\[\]-]", " ", text, flags=re.ASCII)


class _Writer:
    """Lines of Python for the nodes of a graph."""

    def __init__(self, traced: TracedPolicy) -> None:
        self.traced = traced
        self.arguments: list[str] = []
        self.results = ""
        self._names: dict[fx.Node, str] = {}
        self._taken: set[str] = {"self", "w", "torch", "np", "json", "operator", *dir(builtins), *keyword.kwlist}
        self._inputs = iter(["observations", *traced.memory])

    def line(self, node: fx.Node) -> str:
        """Empty where a node has no line of its own."""
        if node.op == "placeholder":
            weight = self.traced.weight_names.get(node.name)
            if weight is not None:
                self._names[node] = f"w[{weight!a}]"
            else:
                self._names[node] = self._free(next(self._inputs))
                self.arguments.append(self._names[node])
            return ""
        if node.op == "output":
            results = [self._text(each) for each in node.args[0]]  # type: ignore[union-attr]
            self.results = ", ".join(results) if len(results) > 1 else f"({results[0]},)"
            return ""
        if not node.users:
            return ""
        value = self._call(node)
        self._names[node] = self._free(node.name)
        return f"{self._names[node]} = {value}"

    def _call(self, node: fx.Node) -> str:
        words = [self._text(each) for each in node.args]
        words += [f"{name}={self._text(value)}" for name, value in node.kwargs.items() if name not in LEFT_OUT]
        target = str(node.target).removeprefix("aten.")
        if node.target is operator.getitem:
            return f"{words[0]}[{words[1]}]"
        if target == "sym_size.int":
            return f"{words[0]}.shape[{words[1]}]"
        if target == "_to_copy.default":
            return f"{words[0]}.to({', '.join(words[1:])})"
        if target in WRITTEN:
            return f"{WRITTEN[target]}({', '.join(words)})"
        if isinstance(node.target, torch._ops.OpOverload):  # pyright: ignore[reportPrivateUsage]
            return f"torch.ops.{node.target}({', '.join(words)})"
        infix = INFIX.get(node.target) if callable(node.target) else None
        if infix is None:
            raise ValueError(f"an operation that plain torch does not have: {node.target}")
        return f"{words[0]} {infix} {words[1]}"

    def _text(self, value: Any) -> str:
        if isinstance(value, fx.Node):
            return self._names[value]
        if isinstance(value, list | tuple):
            return f"[{', '.join(self._text(each) for each in value)}]"  # type: ignore[reportUnknownVariableType]
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            return f"float('{value}')"
        if value is None or isinstance(value, bool | int | float | torch.dtype):
            return str(value)
        if isinstance(value, str):
            return ascii(value)
        raise ValueError(f"a value that cannot be written down: {value!r}")

    def _free(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


INFIX: Mapping[Callable[..., Any], str] = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.floordiv: "//",
}
"""Of numbers of rows."""
