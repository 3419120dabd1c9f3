"""A process that stands still between an episode's return and its length, with all its threads."""

import ctypes
import sys
import time

from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("runs/held_up")
writer.add_scalar("charts/episodic_return", 7.0, 10)
time.sleep(0.6)  # the return has been taken note of
sys.setswitchinterval(100)
ctypes.PyDLL(None).usleep(1_500_000)  # no thread runs: the call keeps the interpreter's lock
writer.add_scalar("charts/episodic_length", 5, 10)
writer.close()
