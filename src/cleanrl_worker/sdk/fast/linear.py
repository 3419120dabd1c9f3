"""One linear layer in numpy, for networks that are not a plain row of layers."""

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.sdk.fast.flat import FlatParameters, Floats


class Linear:
    """The layer `name` of the module behind `flat`; a batch is (rows, features)."""

    def __init__(self, flat: FlatParameters, name: str) -> None:
        values, gradient = flat.linear(name)
        self._weight, self._bias = values[:-1], values[-1]
        self._weight_gradient, self._bias_gradient = gradient[:-1], gradient[-1]
        self._inputs: Floats | None = None

    def infer(self, x: Floats) -> Floats:
        """Outputs for `x`, leaving alone what `backward` needs."""
        outputs = x.dot(self._weight)
        outputs += self._bias
        return outputs

    def forward(self, x: Floats) -> Floats:
        """Outputs for `x`, which must stay as it is until `backward`."""
        self._inputs = x
        return self.infer(x)

    def backward(self, grad_out: Floats) -> None:
        """Overwrite this layer's part of the flat gradient."""
        if self._inputs is None:
            raise ValueError("backward needs a forward before it")
        np.dot(self._inputs.T, grad_out, self._weight_gradient)
        np.add.reduce(grad_out, 0, out=self._bias_gradient)

    def input_gradient(self, grad_out: Floats) -> NDArray[np.float32]:
        """The loss's gradient by the inputs."""
        return grad_out.dot(self._weight.T)
