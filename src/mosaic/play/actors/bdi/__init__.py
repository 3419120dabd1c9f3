"""`bdi` or `bdi:FILE.asl`: beliefs from the observation, AgentSpeak plans, actions from intentions."""

from typing import Any

from mosaic.play.actor import Context
from mosaic.spec.actors import ActorDescriptor

DESCRIPTOR = ActorDescriptor(
    id="bdi",
    label="BDI agent",
    description="AgentSpeak plans; some are shipped for FrozenLake, CliffWalking and Taxi.",
    argument="[FILE.asl]",
    observations=("discrete", "vector", "composite"),
    extra="bdi",
    modules=("agentspeak",),
)


def make(argument: str, context: Context) -> Any:
    from cleanrl_worker.sdk.bdi import plan_file
    from mosaic.play.actors.bdi.bdi_actor import BdiActor

    return BdiActor(plan_file.read(plan_file.find(argument, context.arena, plan_file.SOLVING)), context)
