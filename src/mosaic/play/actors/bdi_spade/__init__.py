"""`bdi_spade` or `bdi_spade:FILE.asl`: a BDI agent that talks as a SPADE agent, with those of other programs too."""

from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Le

from mosaic import config
from mosaic.play.actor import Context
from mosaic.play.actors.bdi import DESCRIPTOR as BDI
from mosaic.spec.actors import ActorDescriptor

DESCRIPTOR = ActorDescriptor(
    id="bdi_spade",
    label="BDI agent, SPADE",
    description="AgentSpeak plans whose messages go over SPADE's own XMPP server, to other programs too.",
    argument=BDI.argument,
    observations=BDI.observations,
    extra="spade",
    modules=("agentspeak", "spade", "greenlet"),
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a BDI agent that talks by SPADE."""

    max_cycles: Annotated[int, Ge(100)] = 200_000
    """Instructions and looks into its beliefs that an agent may take for one action."""
    port: Annotated[int, Ge(0), Le(65535)] = 0
    """Port of the XMPP server on 127.0.0.1, where other programs find it; 0 is any that is free."""


def make(argument: str, context: Context) -> Any:
    from cleanrl_worker.sdk.bdi import plan_file
    from cleanrl_worker.sdk.bdi.spade_mailbox import SpadeBox
    from mosaic.play.actors.bdi import bdi_actor

    settings = config.from_json(Settings, dict(context.params), what="actor_params.bdi_spade")
    plans = plan_file.read(plan_file.find(argument, context.arena, plan_file.SOLVING))
    reasoning = bdi_actor.Settings(max_cycles=settings.max_cycles)
    return bdi_actor.BdiActor(
        plans, context, reasoning, join=lambda session, name: SpadeBox(session, name, settings.port)
    )
