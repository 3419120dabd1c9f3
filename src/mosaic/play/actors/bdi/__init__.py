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
    from mosaic.play.actors.bdi import program
    from mosaic.play.actors.bdi.acting import BdiActor

    return BdiActor(program.read(program.find(argument, context.arena, program.SOLVING)), context)
