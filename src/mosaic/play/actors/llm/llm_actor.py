"""The actor around an endpoint: asks, understands, asks again after an answer that names no action, counts."""

import asyncio
import json
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mosaic.envs import facts
from mosaic.errors import ActorFailed, HomeUnusable
from mosaic.play.actor import Cancelled, Choice, Context, Outcome, View
from mosaic.play.actors.llm import prompt
from mosaic.play.actors.llm.answers import TOOL, Actions, NoAction
from mosaic.play.actors.llm.endpoint import Endpoint
from mosaic.play.actors.llm.settings import Settings


@dataclass
class Totals:
    """What a session took so far."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


class LlmActor:
    """Its event loop lives in the thread that asks it; only `cancel` comes from another."""

    waits_elsewhere = True
    """For an endpoint: others of the same round may be asked meanwhile."""

    def __init__(self, settings: Settings, context: Context, *, key: str) -> None:
        self._settings = settings
        self._arena = context.arena
        self._key = key
        self._actions = Actions(context.arena)
        self._prompt = prompt.load(settings.prompt, context.arena.family.name)
        self._known = "\n".join(f"- {fact}" for fact in facts.known(context.arena)) or "(nothing)"
        self._transcript = Transcript(context.run_dir.actor_file(f"llm-{context.seat}.jsonl"))
        self._runner: asyncio.Runner | None = None
        self._endpoint: Endpoint | None = None
        self._lock = threading.Lock()
        self._task: asyncio.Task[Any] | None = None
        self._memory: list[dict[str, Any]] = []
        self._last: Outcome | None = None
        self._seed = 0
        self.totals = Totals()

    @property
    def wants_picture(self) -> bool:
        """Asks the session to render what it decides on."""
        return self._settings.image

    def summary(self) -> dict[str, Any]:
        """For the summary of the session."""
        return {"model": self._settings.model, **asdict(self.totals)}

    def reset(self, seed: int) -> None:
        self._memory, self._last, self._seed = [], None, seed

    def select_action(self, view: View) -> Choice:
        self._check_budget()
        if self._runner is None:
            self._runner = asyncio.Runner()
        try:
            return self._runner.run(self._choose(view))
        except asyncio.CancelledError:
            raise Cancelled from None

    def cancel(self) -> None:
        """Another actor acts: do not wait, and do not pay, for the rest of an answer."""
        with self._lock:
            if self._task is not None:
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    def observe(self, outcome: Outcome) -> None:
        self._last = outcome

    def close(self) -> None:
        if self._runner is not None:
            if self._endpoint is not None:
                self._runner.run(self._endpoint.close())
            self._runner.close()
            self._runner = None
        self._transcript.close()

    async def _choose(self, view: View) -> Choice:
        with self._lock:
            self._task = asyncio.current_task()
        try:
            return await self._asked(view)
        finally:
            with self._lock:
                self._task = None

    async def _asked(self, view: View) -> Choice:
        endpoint = self._endpoint = self._endpoint or self._opened()
        text = self._filled(self._prompt.turn, view)
        picture = prompt.as_url(prompt.picture_of(view, self._arena)) if self._settings.image else ""
        self._transcript.write(
            "prompt", seed=self._seed, step=view.step, text=text, **({"picture_bytes": len(picture)} if picture else {})
        )
        system = {"role": "system", "content": self._filled(self._prompt.system, view)}
        asked = {"role": "user", "content": text}
        shown: list[dict[str, Any]] = [asked if not picture else {"role": "user", "content": _both(text, picture)}]
        for correction in range(self._settings.corrections + 1):
            reply = await endpoint.ask(self._body([system, *self._memory, *shown], view.legal), self._heard)
            try:
                action, reason = self._actions.understood(reply.answer, view.legal)
            except NoAction as error:
                if correction == self._settings.corrections:
                    tries = f" ({correction + 1} answers)" if correction else ""
                    raise ActorFailed(
                        f"{self._settings.model} gives no action{tries}: {error}; "
                        f"the last answer was {endpoint.hide(reply.answer)!r:.200}"
                    ) from error
                self._transcript.write("correction", step=view.step, reason=str(error))
                shown += [{"role": "assistant", "content": reply.answer or "(nothing)"}]
                shown += [{"role": "user", "content": f"That is not an action: {error}. {prompt.ANSWER}"}]
                continue
            self._remember(asked, {"role": "assistant", "content": reply.answer})
            self._transcript.write("action", step=view.step, action=str(action), totals=asdict(self.totals))
            return Choice(action=action, note=f"{endpoint.hide(reason)} ({self._counted()})".strip())
        raise AssertionError("the last correction raises")

    def _opened(self) -> Endpoint:
        told = {**asdict(self._settings), "env_id": self._arena.env_id, "system": self._prompt.system.template}
        self._transcript.write("session", **told)
        return Endpoint(self._settings, self._key)

    def _filled(self, template: Any, view: View) -> str:
        return template.substitute(
            environment=self._arena.env_id,
            actions=self._actions.described(view.legal),
            known=self._known,
            observation=prompt.spelled(self._arena, view.observation),
            step=view.step + 1,
            last=prompt.told(self._last, self._called()),
            answer=prompt.ANSWER,
        )

    def _called(self) -> str:
        action: Any = self._last.action if self._last is not None else ""
        start = int(getattr(self._arena.action_space, "start", 0))
        return (
            self._actions.names[int(action) - start] if self._actions.names and self._last is not None else str(action)
        )

    def _body(self, messages: list[dict[str, Any]], legal: Any) -> dict[str, Any]:
        settings = self._settings
        body: dict[str, Any] = {"model": settings.model, "messages": messages, **settings.body}
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        if settings.max_tokens is not None:
            body["max_tokens"] = settings.max_tokens
        if settings.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        schema = self._actions.schema(legal)
        if settings.constrain == "schema":
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": TOOL, "strict": True, "schema": schema},
            }
        elif settings.constrain == "tool":
            body["tools"] = [{"type": "function", "function": {"name": TOOL, "strict": True, "parameters": schema}}]
            body["tool_choice"] = {"type": "function", "function": {"name": TOOL}}
        return body

    def _remember(self, *messages: dict[str, Any]) -> None:
        keep = 2 * self._settings.memory
        self._memory = [*self._memory, *messages][-keep:] if keep else []

    def _heard(self, told: dict[str, Any]) -> None:
        totals, settings = self.totals, self._settings
        totals.requests += 1
        given, made = told.get("input_tokens", 0), told.get("output_tokens", 0)
        totals.input_tokens += given
        totals.output_tokens += made
        totals.cost += (given * settings.price_input + made * settings.price_output) / 1e6
        self._transcript.write("attempt", **told)

    def _counted(self) -> str:
        totals = self.totals
        cost = f", cost {totals.cost:.4g}" if self._settings.price_input or self._settings.price_output else ""
        return f"{totals.input_tokens} + {totals.output_tokens} tokens so far{cost}"

    def _check_budget(self) -> None:
        most = self._settings.max_cost
        if most is not None and self.totals.cost >= most:
            raise ActorFailed(f"{self._counted()}: max_cost is {most:g}")


def _both(text: str, picture: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": picture}}]


class Transcript:
    """What was said: a JSON object a line, each the kernel's before the next request, so a kill loses one at most.

    `session` (model, settings, system prompt), then for each action `prompt` (step and text), `attempt` (each request:
    status, answer or error, tokens, seconds) and `action` (what it came to, and the totals so far). Pictures are named
    by their size only, and the key is nowhere in it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Any = None

    def write(self, kind: str, **said: Any) -> None:
        line = json.dumps({"kind": kind, "at": round(time.time(), 3), **said}, ensure_ascii=False) + "\n"
        data = line.encode(errors="replace")
        try:
            if self._file is None:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                # Unbuffered, and after what an earlier actor of this seat said.
                self._file = self._path.open("ab", buffering=0)
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise HomeUnusable(f"{self._path} could not be written: {error}; free some disk") from error

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
