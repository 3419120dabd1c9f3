"""A single-layer `nn.LSTM` in numpy: steps, sequences, and the gradient through time, by hand.

With x the input, h and c the state, σ the logistic function, as torch defines it (gates in the order i, f, g, o):
    [i f g o] = [σ σ tanh σ](x·W_ih' + b_ih + h·W_hh' + b_hh),  c ← f·c + i·g,  h ← o·tanh(c)
Where an episode begins, h and c are set to 0 before the step; no gradient passes there.
"""

from typing import NamedTuple

import numpy as np
from torch import nn

from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters, Floats, UnknownNetwork


class State(NamedTuple):
    """Of several environments: (rows, units) each."""

    hidden: Floats
    cell: Floats


class Lstm:
    """The layer `name` of the module behind `flat`."""

    def __init__(self, flat: FlatParameters, module: nn.Module, name: str) -> None:
        if not isinstance(module, nn.LSTM):
            raise UnknownNetwork(f"{name!r} must be an nn.LSTM, not {type(module).__name__}")
        if module.num_layers != 1 or module.bidirectional or module.proj_size or not module.bias:
            raise UnknownNetwork(f"LSTM {name!r} must have one layer, one direction, biases and no projection")
        self.units = module.hidden_size
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        self._input_weight, self._weight, *self._biases = (flat.value_of[f"{name}.{each}"] for each in names)
        self._gradients = [flat.gradient_of[f"{name}.{each}"] for each in names]
        # σ(x) = (1 + tanh(x/2))/2: so one tanh serves all four gates.
        self._slope = np.full(4 * self.units, 0.5, np.float32)
        self._slope[2 * self.units : 3 * self.units] = 1.0
        self._offset = 1 - self._slope
        self._tape: _Tape | None = None

    def initial(self, rows: int) -> State:
        """What an episode begins with."""
        return State(np.zeros((rows, self.units), np.float32), np.zeros((rows, self.units), np.float32))

    def step(self, x: Floats, state: State, starts: Floats) -> State:
        """One step of each row; `starts` (rows,) is 1 where an episode begins."""
        hidden, cell, _, _ = self._advance(self._driven(x), state, 1 - starts[:, None])
        return State(hidden, cell)

    def forward(self, x: Floats, state: State, starts: Floats) -> Floats:
        """The hidden states (steps, rows, units) of a sequence x (steps, rows, inputs); kept for `backward`."""
        steps, rows, inputs = x.shape
        driven = self._driven(x.reshape(-1, inputs)).reshape(steps, rows, -1)
        keeps = 1 - starts[:, :, None]
        tape = _Tape(
            x=x,
            keeps=keeps,
            # What step t begins with is at t, before it is kept or forgotten; what it ends with at t + 1.
            hidden=np.empty((steps + 1, rows, self.units), np.float32),
            cell=np.empty((steps + 1, rows, self.units), np.float32),
            gates=np.empty((steps, rows, 4 * self.units), np.float32),
            squashed=np.empty((steps, rows, self.units), np.float32),
        )
        tape.hidden[0], tape.cell[0] = state
        for step in range(steps):
            state = State(tape.hidden[step], tape.cell[step])
            (tape.hidden[step + 1], tape.cell[step + 1], tape.gates[step], tape.squashed[step]) = self._advance(
                driven[step], state, keeps[step]
            )
        self._tape = tape
        return tape.hidden[1:]

    def backward(self, grad_hidden: Floats) -> Floats:
        """Overwrite this layer's part of the flat gradient, from the loss's by the hidden states; returns that by x."""
        tape, units = self._tape, self.units
        if tape is None:
            raise ValueError("backward needs a forward before it")
        steps, rows, inputs = tape.x.shape
        hidden_before, cell_before = tape.hidden[:-1] * tape.keeps, tape.cell[:-1] * tape.keeps
        i, f, g, o = (tape.gates[:, :, at * units : (at + 1) * units] for at in range(4))
        # Of each gate by its sum: a - a² for σ, 1 - a² for tanh.
        slopes = tape.gates * (1 - tape.gates)
        slopes[:, :, 2 * units : 3 * units] = 1 - g * g
        through_cell = o * (1 - tape.squashed * tape.squashed)
        kept_forget = f * tape.keeps
        # What each gate's gradient takes from the cell's; o's comes from the hidden state.
        partners = np.concatenate([g, cell_before, i], axis=2)
        grads = np.empty_like(tape.gates)
        grad_h, grad_c = self.initial(rows)
        for step in reversed(range(steps)):
            grad_h = grad_h + grad_hidden[step]
            grad_c = grad_c + grad_h * through_cell[step]
            grad = grads[step]
            for at in range(3):
                part = slice(at * units, (at + 1) * units)
                np.multiply(grad_c, partners[step, :, part], grad[:, part])
            np.multiply(grad_h, tape.squashed[step], grad[:, 3 * units :])
            grad *= slopes[step]
            grad_h = grad.dot(self._weight)
            grad_h *= tape.keeps[step]
            grad_c = grad_c * kept_forget[step]
        flat = grads.reshape(steps * rows, -1)
        input_weight, weight, *biases = self._gradients
        np.dot(flat.T, tape.x.reshape(-1, inputs), input_weight)
        np.dot(flat.T, hidden_before.reshape(-1, units), weight)
        for bias in biases:
            np.add.reduce(flat, 0, out=bias)
        return flat.dot(self._input_weight).reshape(tape.x.shape)

    def _driven(self, x: Floats) -> Floats:
        """The part of the gates' sums that does not depend on the state, (rows, 4·units)."""
        driven = x.dot(self._input_weight.T)
        driven += self._biases[0]
        driven += self._biases[1]
        return driven

    def _advance(self, driven: Floats, state: State, keep: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Hidden and cell state after a step, the gates and tanh(c)."""
        units = self.units
        gates = (state.hidden * keep).dot(self._weight.T)
        gates += driven
        gates *= self._slope
        np.tanh(gates, gates)
        gates *= self._slope
        gates += self._offset
        cell = gates[:, units : 2 * units] * (state.cell * keep)
        cell += gates[:, :units] * gates[:, 2 * units : 3 * units]
        squashed = np.tanh(cell)
        return gates[:, 3 * units :] * squashed, cell, gates, squashed


class _Tape(NamedTuple):
    """What `backward` needs of a sequence."""

    x: Floats
    keeps: Floats
    """(steps, rows, 1): 0 where an episode began, else 1."""
    hidden: Floats
    cell: Floats
    gates: Floats
    squashed: Floats
    """tanh(c)."""
