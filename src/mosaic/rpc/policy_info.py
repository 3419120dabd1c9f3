"""A policy as lists show it, on either side of the wire."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
    env_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings of that environment that are not as its id has them."""


def of_run(
    run: RunRecord,
    path: str,
    *,
    global_step: int | None,
    saved_at: float,
    kind: str,
    env_settings: Mapping[str, Any] | None = None,
) -> PolicyInfo:
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
        env_settings=env_settings or {},
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
        env_settings=facts.env_settings,
    )


def to_message(policy: PolicyInfo) -> pb.PolicyInfo:
    given = {name: value for name, value in vars(policy).items() if value is not None and name != "env_settings"}
    return pb.PolicyInfo(
        **given, env_settings_json=json.dumps(dict(policy.env_settings)) if policy.env_settings else ""
    )


def from_message(message: pb.PolicyInfo) -> PolicyInfo:
    def optional(name: str) -> dict[str, float]:
        return {name: getattr(message, name)} if message.HasField(name) else {}

    values = {name: getattr(message, name) for name in _PLAIN}
    for name in ("seed", "global_step", "last_return"):
        values |= optional(name)
    settings: dict[str, Any] = json.loads(message.env_settings_json) if message.env_settings_json else {}
    return PolicyInfo(**values, env_settings=settings)


_PLAIN = ("path", "run_id", "label", "state", "algo", "env_id", "saved_at", "kind", "source")
