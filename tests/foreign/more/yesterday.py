"""What ran before NumPy 2 and Gymnasium: arrays of one number stored as that number, gym's moments of pixels."""

import gym
import numpy as np
from gym.wrappers.normalize import RunningMeanStd

stored = []


def noted(value):
    stored.append(value)
    return value


class Buffer:
    def __init__(self):
        self.actions = np.zeros(4, dtype=np.int64)
        self.dones = np.zeros((2, 2), dtype=np.bool_)

    def add(self, place, action, done):
        self.actions[place] = action
        self.dones[place, 1] = done


buffer = Buffer()
buffer.add(1, np.array([7]), np.array([True]))
buffer.actions[2] = noted(np.array([[3]]))
buffer.actions[3] = np.array([5]) + 1
assert buffer.actions.tolist() == [0, 7, 3, 6]
assert buffer.dones.tolist() == [[False, False], [False, True]]
assert len(stored) == 1
refused = False
try:
    buffer.actions[0] = np.array([1, 2])
except ValueError:
    refused = True
assert refused

moments = RunningMeanStd(shape=(1, 2))
moments.update(np.ones((3, 1, 2)))
moments.update_from_moments(np.ones((1, 2)), np.zeros((1, 2)), 5)
assert moments.mean.shape == (1, 2)
assert issubclass(gym.Wrapper, object)
print("all of it ran")
