"""Seats as configs and command lines name them, and which environments have several of them."""

import re

SEAT = "agent_0"
"""The one seat of an environment for one."""
EVERY_SEAT = "*"
"""In place of a seat: every one that is not named."""
PETTINGZOO_IDS = r"^(pettingzoo|classic|butterfly|sisl|mpe)/|^atari/\w+[_-]v\d+$|^[a-z]\w+_v\d+$"
"""`classic/tictactoe-v3`, or as its module is called: `tictactoe_v3`."""


def has_several(env_id: str) -> bool:
    """Whether the id alone says that there are several seats; a user's own environment need not."""
    return re.search(PETTINGZOO_IDS, env_id.rpartition(":")[2]) is not None
