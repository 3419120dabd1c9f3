"""One question to an endpoint that speaks OpenAI's chat protocol: tried again where that may help, and bounded in time.

The network's faults, 408, 429, 5xx and answers that are not the protocol are tried again, after a wait that doubles, or
as long as the endpoint asks for (`Retry-After`). All others (400, 401, 404…) are said at once with what the endpoint
says.
"""

import asyncio
import email.utils
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from mosaic.errors import ActorFailed
from mosaic.play.actors.llm.settings import Settings
from mosaic.spec.processes.language_model import KEY

MAX_ANSWER_BYTES = 4 * 2**20
HIDDEN = "[hidden]"
_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504, 529)
_HINTS = {
    400: "; if it does not know JSON schemas, set constrain to 'tool' or 'none'",
    401: f"; is {KEY} set to its key?",
    403: f"; is {KEY} set to its key?",
    404: "; is the address right, and the model there?",
}


@dataclass
class Reply:
    """What the model said."""

    text: str = ""
    tool: str = ""
    """Arguments of the tool it called."""
    finish: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    calls: dict[int, str] = field(default_factory=dict[int, str])
    """Arguments of each tool call of a stream, as far as they have come."""

    @property
    def answer(self) -> str:
        return self.tool or self.text


class Trouble(Exception):
    """A try that failed; `wait_s` is how long to wait before the next, None if there is no use in one."""

    def __init__(self, reason: str, *, status: int = 0, wait_s: float | None = 0.0) -> None:
        super().__init__(reason)
        self.status = status
        self.wait_s = wait_s


Tell = Callable[[dict[str, Any]], None]
"""Hears of each try."""


class Endpoint:
    """Belongs to one event loop."""

    def __init__(self, settings: Settings, key: str) -> None:
        self._settings = settings
        self._key = key
        self._url = settings.base_url.rstrip("/") + "/chat/completions"
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # Redirects are not followed: the key is for this address only.
        self._client = httpx.AsyncClient(headers=headers, timeout=settings.timeout_s, follow_redirects=False)

    async def ask(self, body: dict[str, Any], tell: Tell) -> Reply:
        """The answer, or ActorFailed with the reason of the last try."""
        deadline = time.monotonic() + self._settings.give_up_s
        backoff_s = self._settings.backoff_s
        for attempt in range(1, self._settings.retries + 2):
            began = time.monotonic()
            try:
                reply = await self._once(body, min(self._settings.timeout_s, deadline - began))
            except Trouble as trouble:
                reason = self.hide(str(trouble))
                seconds = round(time.monotonic() - began, 3)
                tell({"attempt": attempt, "status": trouble.status, "error": reason, "seconds": seconds})
                wait_s = None if trouble.wait_s is None else max(trouble.wait_s, backoff_s)
                over = wait_s is not None and time.monotonic() + wait_s >= deadline
                if wait_s is None or over or attempt > self._settings.retries:
                    tries = f" (after {attempt} tries)" if attempt > 1 else ""
                    raise ActorFailed(f"{self._settings.base_url} {reason}{tries}") from trouble
                await asyncio.sleep(wait_s)
                backoff_s *= 2
            else:
                seconds = round(time.monotonic() - began, 3)
                usage = {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens}
                told = {"attempt": attempt, "status": 200, "answer": self.hide(reply.answer), "finish": reply.finish}
                tell(told | usage | {"seconds": seconds})
                return reply
        raise AssertionError("the last try raises")

    def hide(self, text: str) -> str:
        """Without the key, should an endpoint or a model repeat it."""
        return text.replace(self._key, HIDDEN) if self._key else text

    async def close(self) -> None:
        await self._client.aclose()

    async def _once(self, body: dict[str, Any], timeout_s: float) -> Reply:
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._client.stream("POST", self._url, json=body) as response,
            ):
                if response.status_code != 200:
                    raise _refused(response, await _whole(response))
                if response.headers.get("content-type", "").startswith("text/event-stream"):
                    return await _streamed(response)
                return _complete(await _whole(response))
        except TimeoutError:
            raise Trouble(f"has not answered within {timeout_s:.3g} s") from None
        except httpx.TimeoutException:
            raise Trouble(f"has not answered within {timeout_s:.3g} s") from None
        except httpx.ConnectError as error:
            raise Trouble(f"cannot be reached: {error}") from error
        except httpx.InvalidURL as error:
            raise Trouble(f"is not an address: {error}", wait_s=None) from error
        except httpx.HTTPError as error:
            raise Trouble(f"broke off its answer: {error or type(error).__name__}") from error


async def _whole(response: httpx.Response) -> bytes:
    data = bytearray()
    async for part in response.aiter_bytes():
        data += part
        if len(data) > MAX_ANSWER_BYTES:
            raise Trouble(f"answers with more than {MAX_ANSWER_BYTES} bytes", wait_s=None)
    return bytes(data)


def _refused(response: httpx.Response, data: bytes) -> Trouble:
    status = response.status_code
    if 300 <= status < 400:
        where = response.headers.get("location", "nowhere")
        return Trouble(f"redirects to {where}; set that as the address", status=status, wait_s=None)
    said = f"answers {status} {response.reason_phrase}: {_message(data)}{_HINTS.get(status, '')}"
    return Trouble(said, status=status, wait_s=_retry_after_s(response) if status in _AGAIN else None)


def _message(data: bytes) -> str:
    """What an error body says, at most a few lines of it."""
    text = data.decode(errors="replace")
    try:
        found: Any = json.loads(text)
    except ValueError:
        return text.strip()[:300] or "without a reason"
    error: Any = found.get("error", found) if isinstance(found, dict) else found
    said: Any = error.get("message") if isinstance(error, dict) else error
    return str(said if said is not None else error)[:300]


def _retry_after_s(response: httpx.Response) -> float:
    """How long the endpoint asks to wait: seconds, or a date."""
    told = response.headers.get("retry-after", "")
    try:
        return max(0.0, float(told))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(told).timestamp() - time.time())
    except ValueError:
        return 0.0


def _complete(data: bytes) -> Reply:
    """An answer in one piece."""
    try:
        found: Any = json.loads(data)
        choice = found["choices"][0]
        message = choice["message"]
        reply = Reply(text=str(message.get("content") or ""), finish=str(choice.get("finish_reason") or ""))
        calls: Any = message.get("tool_calls") or []
        if calls:
            reply.tool = str(calls[0]["function"]["arguments"])
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise Trouble(f"answers what is not a chat completion: {data[:120]!r} ({error!r})") from error
    _count(reply, found)
    return reply


async def _streamed(response: httpx.Response) -> Reply:
    """An answer in events: pieces of text or of tool arguments, the last with the usage, then [DONE]."""
    reply, done = Reply(), False
    async for data in _events(response):
        if data == "[DONE]":
            done = True
            break
        try:
            found: Any = json.loads(data)
            if "error" in found:
                raise Trouble(f"broke off its answer: {_message(data.encode())}")
            for choice in found.get("choices") or []:
                _add(reply, choice)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Trouble(f"streams what is not a chat completion: {data[:120]!r} ({error!r})") from error
        _count(reply, found)
    if not done and not reply.finish:
        raise Trouble("broke off its answer: the stream ended in the middle")
    reply.tool = reply.calls.get(min(reply.calls), "") if reply.calls else ""
    return reply


def _add(reply: Reply, choice: Any) -> None:
    delta = choice.get("delta") or {}
    reply.text += delta.get("content") or ""
    for call in delta.get("tool_calls") or []:
        at = int(call.get("index", 0))
        reply.calls[at] = reply.calls.get(at, "") + (call.get("function", {}).get("arguments") or "")
    reply.finish = str(choice.get("finish_reason") or reply.finish)


async def _events(response: httpx.Response) -> AsyncIterator[str]:
    """The data of each server-sent event: its `data:` lines, joined; comments keep the line alive and say nothing."""
    lines: list[str] = []
    size = 0
    async for line in response.aiter_lines():
        size += len(line)
        if size > MAX_ANSWER_BYTES:
            raise Trouble(f"answers with more than {MAX_ANSWER_BYTES} bytes", wait_s=None)
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif not line and lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


def _count(reply: Reply, found: Any) -> None:
    usage: Any = found.get("usage")
    if isinstance(usage, dict):
        reply.input_tokens = _whole_number(usage.get("prompt_tokens"))
        reply.output_tokens = _whole_number(usage.get("completion_tokens"))


def _whole_number(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0
