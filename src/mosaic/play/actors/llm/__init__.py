"""`llm` or `llm:MODEL`: a language model behind any endpoint that speaks OpenAI's chat protocol, local or not."""

import os
from dataclasses import replace
from typing import Any

from mosaic import config
from mosaic.play.actor import Context
from mosaic.spec.actors import ActorDescriptor
from mosaic.spec.processes.language_model import BASE_URL, KEY, MODEL

DESCRIPTOR = ActorDescriptor(
    id="llm",
    label="Language model",
    description="A language model behind an OpenAI-compatible endpoint, with a key where the endpoint wants one.",
    argument="[MODEL]",
    actions=("discrete", "continuous", "multi_discrete"),
    extra="llm",
    modules=("httpx",),
    key=KEY,
)


def make(argument: str, context: Context) -> Any:
    from mosaic.play.actors.llm.llm_actor import LlmActor
    from mosaic.play.actors.llm.settings import Settings, checked

    settings = config.from_json(Settings, dict(context.params), what="actor_params.llm")
    settings = replace(
        settings,
        base_url=settings.base_url or os.environ.get(BASE_URL, ""),
        model=argument or settings.model or os.environ.get(MODEL, ""),
    )
    return LlmActor(checked(settings), context, key=os.environ.get(KEY, ""))
