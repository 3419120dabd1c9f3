"""Tags under which scripts and libraries log the return of an episode: `charts/episodic_return`, spelled otherwise."""

import re
from functools import lru_cache

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_EPISODE = frozenset({"ep", "episode", "episodes", "episodic"})
_RETURN = frozenset({"return", "returns", "ret", "score", "scores"})
_REWARD = frozenset({"reward", "rewards", "rew"})
_SUM = frozenset({"total", "cumulative", "sum", "undiscounted"})
_OTHER = frozenset({"mean", "avg", "average", "raw", "train", "training"})
_TESTS = frozenset({"eval", "evaluation", "evaluate", "evaluator", "test", "tests", "testing", "validation", "val"})
_LOSSES = frozenset({"loss", "losses"})


def _words(text: str) -> frozenset[str]:
    found: list[str] = _PARTS.findall(text)
    return frozenset(word.lower() for word in found)


@lru_cache(maxsize=4096)
def is_return(tag: str) -> bool:
    """Whether a scalar of this tag tells how a training does.

    `episode_return`, `rollout/ep_rew_mean`, `Episode Reward`, `train/score`, `AverageEpRet`; no tag of an evaluation,
    and no `reward` alone, which is as often that of a step.
    """
    *folders, name = map(_words, tag.split("/"))
    above = frozenset[str]().union(*folders)
    if not name or above & (_TESTS | _LOSSES):
        return False
    if name - (_EPISODE | _RETURN | _REWARD | _SUM | _OTHER):
        return False
    return bool(name & _RETURN or (name & _REWARD and (name | above) & (_EPISODE | _SUM)))
