"""Naming a sweep on the command line: its id, the beginning or the end of it, its label, @last or @last-1."""

from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.client import Client
from mosaic.rpc.find_run import counted_back
from mosaic.sweep.sweep_dir import SweepNotFound
from mosaic.sweep.sweep_reader import plan_of

MAKES_ONE = "'mosaic sweep ppo --env-id CartPole-v1' makes one"


def pick_sweep(client: Client, word: str) -> pb.Sweep:
    """The one sweep that a word means, or SweepNotFound with what it could have meant."""
    found = client.sweeps()
    if (before := counted_back(word)) is not None:
        if before < len(found):
            return found[before]
        there = f"there are {len(found)} of them" if found else f"there is none yet; {MAKES_ONE}"
        raise SweepNotFound(word, hint=there)
    wanted = word.upper()
    matches = (
        [one for one in found if one.sweep_id == wanted]
        or [one for one in found if label_of(one) == word]
        or [one for one in found if wanted and (one.sweep_id.startswith(wanted) or one.sweep_id.endswith(wanted))]
    )
    if len(matches) == 1:
        return matches[0]
    near = [f"{one.sweep_id} ({label_of(one)})" for one in matches[:3]]
    raise SweepNotFound(word, near, hint=f"{len(matches)} sweeps match: type more letters" if matches else "")


def label_of(sweep: pb.Sweep) -> str:
    if sweep.damage:
        return ""
    plan = plan_of(sweep)
    return plan.label or f"{plan.algo} {plan.env_id}"
