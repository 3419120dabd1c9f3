"""The proxy of web pages inside the window.

Qt has one for the whole application and none for a single profile. Nothing else in this process goes by it: the daemon
is reached by gRPC, and WebEngine asks no proxy for pages of this machine. A profile takes the proxy that is set when it
is made; a later change reaches it one request too late.
"""

from urllib.parse import unquote, urlsplit

from PySide6.QtNetwork import QNetworkProxy

_KINDS = {
    "http": QNetworkProxy.ProxyType.HttpProxy,
    "https": QNetworkProxy.ProxyType.HttpProxy,
    "socks5": QNetworkProxy.ProxyType.Socks5Proxy,
    "socks5h": QNetworkProxy.ProxyType.Socks5Proxy,
}
_PORTS = {"http": 80, "https": 443}
_SOCKS_PORT = 1080


class WebProxy:
    """Remembers how it was before."""

    def __init__(self) -> None:
        self._before: QNetworkProxy | None = None

    def use(self, address: str) -> None:
        """Go through this proxy from now on; an empty address goes as before."""
        wanted = of(address)
        if wanted is None:
            self.leave()
            return
        if self._before is None:
            self._before = QNetworkProxy.applicationProxy()
        if QNetworkProxy.applicationProxy() != wanted:
            QNetworkProxy.setApplicationProxy(wanted)

    def leave(self) -> None:
        if self._before is not None:
            QNetworkProxy.setApplicationProxy(self._before)
            self._before = None


def of(address: str) -> QNetworkProxy | None:
    """`http://user:password@host:port` in Qt's words; None for what is not a proxy that WebEngine can use."""
    parts = urlsplit(address)
    kind = _KINDS.get(parts.scheme)
    if kind is None or not parts.hostname:
        return None
    port = parts.port or _PORTS.get(parts.scheme, _SOCKS_PORT)
    return QNetworkProxy(kind, parts.hostname, port, unquote(parts.username or ""), unquote(parts.password or ""))
