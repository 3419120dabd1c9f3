"""Who may see the page: a link with a token that works once gives a browser a cookie, and the cookie opens the rest.

The token is in the link that the terminal shows. The first browser that opens it gets a cookie that no script can read
(HttpOnly) and no other site can send (SameSite=Strict); the token is void then, and the terminal shows a further link.
Both are 256 bits of chance, kept in memory alone: they end with the process.
"""

import hmac
import secrets
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie

TOKEN_BYTES = 32
MOST_BROWSERS = 64
"""Cookies that are valid at once; a further one makes the oldest void."""


class Entrance:
    """Tokens and cookies of one server."""

    def __init__(self, url: str, port: int, tell: Callable[[str], object], *, is_secure: bool) -> None:
        self._url, self._tell, self._is_secure = url, tell, is_secure
        # A browser sends a cookie to every port of a host: the name keeps those of two servers apart.
        self.cookie_name = f"mosaic_{port}"
        self._token = ""
        self._cookies: list[str] = []

    def invite(self) -> None:
        """Show a fresh link."""
        self._token = secrets.token_urlsafe(TOKEN_BYTES)
        again = "another browser" if self._cookies else "open"
        self._tell(f"{again}: {self._url}/enter?token={self._token}")

    def admit(self, token: str) -> str | None:
        """The Set-Cookie header for the browser that brings the token; None for a token that is void."""
        if not self._token or not hmac.compare_digest(token.encode(), self._token.encode()):
            return None
        cookie = secrets.token_urlsafe(TOKEN_BYTES)
        self._cookies = [*self._cookies, cookie][-MOST_BROWSERS:]
        self.invite()
        secure = "; Secure" if self._is_secure else ""
        return f"{self.cookie_name}={cookie}; Path=/; HttpOnly; SameSite=Strict{secure}"

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Whether a request brings a valid cookie."""
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie_name)
        except CookieError:
            return False
        given = "" if found is None else found.value
        # Every one is compared, so that the time tells nothing.
        return sum(hmac.compare_digest(given.encode(), cookie.encode()) for cookie in self._cookies) > 0
