"""Settings of the actor `llm`, all but the key, which comes from the environment alone."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from mosaic.config import JsonValue
from mosaic.errors import ActorFailed
from mosaic.spec.processes.language_model import BASE_URL, MODEL, address_problem


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Which model, how it is asked, and how long and how much that may take."""

    base_url: str = ""
    """Where the endpoint is, with its path (http://127.0.0.1:11434/v1); else MOSAIC_LLM_BASE_URL."""
    model: str = ""
    """Model to ask for; else MOSAIC_LLM_MODEL."""
    prompt: str = ""
    """File with a prompt of your own; else the one for the environment's family."""
    image: bool = False
    """Show the model a picture too: the observation where it is one, else what is rendered."""
    constrain: Literal["schema", "tool", "none"] = "schema"
    """How the answer is held to an action: a JSON schema, a call of a tool, or only by asking for it."""
    memory: Annotated[int, Ge(0), Le(100)] = 4
    """Earlier questions and answers of the episode that are sent along."""
    stream: bool = False
    """Take the answer as it is made."""
    temperature: Annotated[float, Ge(0), Le(2)] | None = None
    """Randomness of the answer; the endpoint's own if not given."""
    max_tokens: Annotated[int, Ge(1)] | None = None
    """Length of the answer; the endpoint's own if not given."""
    body: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Further fields of the request, as the endpoint knows them."""
    timeout_s: Annotated[float, Gt(0)] = 30.0
    """A single request may take as long as this."""
    give_up_s: Annotated[float, Gt(0)] = 50.0
    """All tries for one action together; keep it below the session's actor_timeout_s."""
    retries: Annotated[int, Ge(0), Le(20)] = 4
    """Further tries after the network or the endpoint failed."""
    backoff_s: Annotated[float, Gt(0)] = 0.5
    """Wait before the first further try; twice as long before each next one."""
    corrections: Annotated[int, Ge(0), Le(10)] = 2
    """How often the model is asked again after an answer that is not an action."""
    price_input: Annotated[float, Ge(0)] = 0.0
    """What a million tokens of questions cost, to count."""
    price_output: Annotated[float, Ge(0)] = 0.0
    """What a million tokens of answers cost, to count."""
    max_cost: Annotated[float, Gt(0)] | None = None
    """Ask no more once this much is spent in the session."""


def checked(settings: Settings) -> Settings:
    """The same, or ActorFailed with what is missing."""
    if not settings.base_url:
        raise ActorFailed(f"no endpoint: set {BASE_URL}, for example to http://127.0.0.1:11434/v1")
    if not settings.model:
        raise ActorFailed(f"no model: write llm:MODEL, or set {MODEL}")
    if problem := address_problem(settings.base_url):
        raise ActorFailed(problem)
    if settings.max_cost is not None and not (settings.price_input or settings.price_output):
        raise ActorFailed("max_cost needs price_input and price_output: what a million tokens cost")
    return settings
