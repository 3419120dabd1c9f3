"""A policy as lists show it, on either side of the wire."""

from dataclasses import dataclass

from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec.policy_facts import PolicyFacts
from mosaic.spec.run_record import RunRecord


@dataclass(frozen=True, kw_only=True)
class PolicyInfo:
    """What is known of a policy file; what is not known is empty or None."""

    path: str
    """The file, on the daemon's machine."""
    run_id: str = ""
    """Run that saved it; empty for a file from elsewhere."""
    label: str = ""
    """Label of that run."""
    state: str = ""
    """State of that run."""
    algo: str = ""
    """Algorithm."""
    env_id: str = ""
    """Environment that it was trained in."""
    seed: int | None = None
    """Seed that it was trained with."""
    global_step: int | None = None
    """Environment steps that it was trained for."""
    last_return: float | None = None
    """Mean return of the run's last 100 episodes, at most."""
    saved_at: float = 0.0
    """Unix seconds."""
    kind: str = "mosaic"
    """Who wrote it: mosaic, cleanrl or sb3."""
    source: str = ""
    """Where the environment was found."""


def of_run(run: RunRecord, path: str, *, global_step: int | None, saved_at: float, kind: str) -> PolicyInfo:
    return PolicyInfo(
        path=path,
        kind=kind,
        run_id=run.run_id,
        label=run.label,
        state=run.state.value,
        algo=run.algo,
        env_id=run.env_id,
        seed=run.seed,
        global_step=global_step,
        last_return=run.last_return,
        saved_at=saved_at,
        source="its run",
    )


def of_file(facts: PolicyFacts, *, saved_at: float) -> PolicyInfo:
    return PolicyInfo(
        path=str(facts.path),
        algo=facts.algo,
        env_id=facts.env_id,
        seed=facts.seed,
        global_step=facts.global_step,
        saved_at=saved_at,
        kind=facts.kind,
        source=facts.source,
    )


def to_message(policy: PolicyInfo) -> pb.PolicyInfo:
    return pb.PolicyInfo(**{name: value for name, value in vars(policy).items() if value is not None})


def from_message(message: pb.PolicyInfo) -> PolicyInfo:
    def optional(name: str) -> dict[str, float]:
        return {name: getattr(message, name)} if message.HasField(name) else {}

    values = {name: getattr(message, name) for name in _PLAIN}
    for name in ("seed", "global_step", "last_return"):
        values |= optional(name)
    return PolicyInfo(**values)


_PLAIN = ("path", "run_id", "label", "state", "algo", "env_id", "saved_at", "kind", "source")
