"""Telling a web server of an alert: JSON by POST, over HTTPS or on this machine, within a time limit.

The object has every field of the alert and `text`, one line that Slack and its like show: in it `&`, `<` and `>` are
written as Slack asks for, so that a label never mentions a whole channel. `id` is the same for every try, so
that a receiver that was told twice can know. A redirect is not followed.
"""

import json
import ssl
import threading
import urllib.request
from typing import Any
from urllib.error import HTTPError, URLError

from mosaic import config
from mosaic.alerts.alert import Alert, NotTold
from mosaic.alerts.alert_settings import LOOPBACK, Receiver, check_url
from mosaic.errors import MosaicError
from mosaic.plain_text import plain_line

READ_BYTES = 64 * 1024
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """An answer 3xx is then an error like any other."""


def content(alert: Alert) -> dict[str, Any]:
    line = plain_line(f"{alert.title}: {alert.text}")
    escaped = "".join(_ESCAPES.get(letter, letter) for letter in line)
    facts = {name: value for name, value in config.to_json(alert).items() if name not in ("to", "alert_id")}
    return {**facts, "id": alert.alert_id, "text": escaped, "what": alert.text}


def post(receiver: Receiver, alert: Alert, time_limit_s: float) -> None:
    """Return once the server has said yes; NotTold otherwise, at the latest after the time limit."""
    ended: list[Exception | None] = []

    def work() -> None:
        try:
            _post(receiver.url, alert, time_limit_s)
            ended.append(None)
        except Exception as error:  # A border: the thread's; the caller raises it.
            ended.append(error)

    # A time limit of a socket is for each piece that comes: a server that drips would never reach it.
    thread = threading.Thread(target=work, name="webhook", daemon=True)
    thread.start()
    thread.join(time_limit_s)
    if not ended:
        raise NotTold(f"no answer within {time_limit_s:g} s")
    if ended[0] is not None:
        raise NotTold(_said(ended[0]))


def _post(url: str, alert: Alert, time_limit_s: float) -> None:
    place = check_url(url)
    handlers: list[urllib.request.BaseHandler] = [
        _NoRedirect(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
    ]
    if place.hostname in LOOPBACK:
        handlers.append(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(
        url,
        data=json.dumps(content(alert)).encode(),
        headers={"Content-Type": "application/json", "User-Agent": "mosaic"},
        method="POST",
    )
    opener = urllib.request.build_opener(*handlers)
    try:
        with opener.open(request, timeout=time_limit_s) as answer:
            answer.read(READ_BYTES)
    except HTTPError as error:
        with error:
            redirects = "; redirects are not followed" if 300 <= error.code < 400 else ""
            reason = plain_line(str(error.reason))[:80]
            raise NotTold(f"the server answered {error.code} {reason}{redirects}") from None


def _said(error: Exception) -> str:
    """In a few words. The address stays out: its path is often the key."""
    if isinstance(error, NotTold):
        return str(error)
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, ssl.SSLError):
        return f"the connection is not safe: {plain_line(str(reason.reason or reason))[:120]}"
    if isinstance(reason, OSError) and reason.strerror:
        return f"the server cannot be reached: {reason.strerror}"
    if isinstance(reason, TimeoutError):
        return "no answer in time"
    if isinstance(error, MosaicError):
        return error.sentence
    return f"the server cannot be reached: {type(reason).__name__}"
