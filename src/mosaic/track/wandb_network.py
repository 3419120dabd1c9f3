"""The way to the W&B server: which server, through which proxy, and whether it answers."""

import base64
import configparser
import http.client
import netrc
import os
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from mosaic.spec.run_config import PROXIES, TrainOptions, without_password
from mosaic.spec.run_dir import Home

PROBE_S = 5.0
DEFAULT_SERVER = "https://api.wandb.ai"
HTTP_VARIABLE, HTTPS_VARIABLE = PROXIES["wandb_http_proxy"], PROXIES["wandb_https_proxy"]
OWN_HTTP, OWN_HTTPS = "WANDB_HTTP_PROXY", "WANDB_HTTPS_PROXY"
"""Variables of W&B itself, which it follows by itself, and puts before those of the system."""
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, kw_only=True)
class Network:
    """How the server is reached."""

    server: str
    """Base address of the API."""
    proxy: str = ""
    """Proxy on the way, with its password if it has one; empty is none."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables that make W&B go this way; empty leaves its environment untouched."""
    problem: str = ""
    """Why there is no way."""

    @property
    def shown_proxy(self) -> str:
        """The proxy without user and password."""
        return without_password(self.proxy)


@dataclass(frozen=True)
class Answer:
    """What a probe found."""

    reachable: bool
    text: str
    """Text for the user."""
    seconds: float


def network_of(options: TrainOptions, variables: Mapping[str, str] | None = None) -> Network:
    """The way that a run's options and the environment ask for."""
    variables = os.environ if variables is None else variables
    server = server_of(variables)
    if not options.wandb_use_vpn_proxy:
        return Network(server=server, proxy=own_proxy(server, variables) or _system_proxy(server, variables))
    named = {**_from_files(variables), **variables}
    http = _chosen(options.wandb_http_proxy, named.get(HTTP_VARIABLE, ""))
    https = _chosen(options.wandb_https_proxy, named.get(HTTPS_VARIABLE, "")) or http
    http = http or https
    if not http:
        problem = (
            "wandb_use_vpn_proxy is on, but no proxy is named: fill in wandb_http_proxy, or set"
            f" {HTTP_VARIABLE} in the environment or in a .env file"
        )
        return Network(server=server, problem=problem)
    return through(http, https, server=server)


def _chosen(field: str | None, variable: str) -> str:
    """The field comes first; its password, which no file of a run holds, comes in the variable."""
    return variable if not field or without_password(variable) == field else field


def through(http: str, https: str, *, server: str) -> Network:
    """By these proxies."""
    chosen = https if server.startswith("https:") else http
    if not _is_address(chosen):
        return Network(
            server=server, problem=f"'{without_password(chosen)}' is not an address of a proxy; one is http://host:port"
        )
    # W&B's own variables come before those of the system, so they must say the same.
    variables: dict[str, str] = dict.fromkeys(("HTTP_PROXY", "http_proxy", OWN_HTTP), http)
    variables.update(dict.fromkeys(("HTTPS_PROXY", "https_proxy", OWN_HTTPS), https))
    return Network(server=server, proxy=chosen, environment=variables)


def server_of(variables: Mapping[str, str]) -> str:
    """`WANDB_BASE_URL`, else what `wandb login --host` left behind, else the public server."""
    if chosen := variables.get("WANDB_BASE_URL"):
        return chosen.rstrip("/")
    folder = variables.get("WANDB_CONFIG_DIR") or Path.home() / ".config" / "wandb"
    settings = configparser.ConfigParser(interpolation=None)
    try:
        settings.read(Path(folder) / "settings")
    except (configparser.Error, OSError, UnicodeDecodeError):
        return DEFAULT_SERVER
    return settings.get("default", "base_url", fallback=DEFAULT_SERVER).rstrip("/")


def has_key(server: str, variables: Mapping[str, str] | None = None) -> bool:
    """Whether W&B would find a key: in the environment, or where `wandb login` keeps it."""
    variables = os.environ if variables is None else variables
    if variables.get("WANDB_API_KEY") or variables.get("WANDB_IDENTITY_TOKEN_FILE"):
        return True
    names = [variables["NETRC"]] if variables.get("NETRC") else ["~/.netrc", "~/_netrc"]
    for path in (Path(name).expanduser() for name in names):
        try:
            if path.exists() and netrc.netrc(path).authenticators(urlsplit(server).hostname or ""):
                return True
        except (netrc.NetrcParseError, OSError):
            continue
    return False


def probe(network: Network, timeout_s: float = PROBE_S) -> Answer:
    """Ask the server for anything at all, for at most `timeout_s`."""
    began = time.monotonic()
    if network.problem:
        return Answer(False, network.problem, 0.0)
    found: list[tuple[bool, str]] = []
    # In a thread: looking up a name cannot be given a time limit.
    thread = threading.Thread(target=lambda: found.append(_asked(network, timeout_s)), daemon=True)
    thread.start()
    thread.join(timeout_s)
    via = f" through {network.shown_proxy}" if network.proxy else ""
    reachable, text = found[0] if found else (False, f"no answer within {timeout_s:g} s")
    return Answer(reachable, f"{network.server}{via}: {text}", time.monotonic() - began)


def _asked(network: Network, timeout_s: float) -> tuple[bool, str]:
    try:
        status = _status(urlsplit(network.server), urlsplit(network.proxy) if network.proxy else None, timeout_s)
    except socket.gaierror as error:
        return False, f"its name is not known ({error.strerror})"
    except TimeoutError:
        return False, f"no answer within {timeout_s:g} s"
    except ssl.SSLError as error:
        return False, f"TLS failed ({error.reason or error})"
    except (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected):
        return False, "the connection was closed without an answer"
    except (OSError, http.client.HTTPException, ValueError) as error:
        return False, str(error) or type(error).__name__
    if status >= 500 or status == http.HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return False, f"answered with HTTP {status}"
    return True, "reachable"


def _status(server: SplitResult, proxy: SplitResult | None, timeout_s: float) -> int:
    host, port = server.hostname or "", server.port or _PORTS.get(server.scheme, 443)
    if proxy is not None and proxy.scheme.startswith("socks"):
        # Python speaks no SOCKS: a listener has to do.
        socket.create_connection((proxy.hostname, proxy.port or 1080), timeout_s).close()
        return 200
    near, near_port = (
        (host, port) if proxy is None else (proxy.hostname or "", proxy.port or _PORTS.get(proxy.scheme, 80))
    )
    kind = http.client.HTTPSConnection if server.scheme == "https" else http.client.HTTPConnection
    connection = kind(near, near_port, timeout=timeout_s)
    credentials = _credentials(proxy)
    path = "/healthz"
    if proxy is not None and server.scheme == "https":
        connection.set_tunnel(host, port, headers=credentials)
    elif proxy is not None:
        path = f"{server.scheme}://{server.netloc}{path}"
    try:
        connection.request("GET", path, headers=credentials if server.scheme == "http" else {})
        return connection.getresponse().status
    finally:
        connection.close()


def _credentials(proxy: SplitResult | None) -> dict[str, str]:
    if proxy is None or not proxy.username:
        return {}
    words = unquote(f"{proxy.username}:{proxy.password or ''}")
    return {"Proxy-Authorization": f"Basic {base64.b64encode(words.encode()).decode()}"}


def own_proxy(server: str, variables: Mapping[str, str]) -> str:
    """What W&B's own variables say; it asks for no exceptions (NO_PROXY) there."""
    return variables.get(OWN_HTTPS if server.startswith("https:") else OWN_HTTP, "")


def _system_proxy(server: str, variables: Mapping[str, str]) -> str:
    """What the environment says anyhow; W&B follows it by itself."""
    parts = urlsplit(server)
    host = parts.hostname or ""
    if host in ("localhost", "127.0.0.1", "::1"):
        return ""
    skipped = variables.get("no_proxy") or variables.get("NO_PROXY") or ""
    if any(name and (name == "*" or host.endswith(name.strip().lstrip("."))) for name in skipped.split(",")):
        return ""
    name = f"{parts.scheme}_proxy"
    found = variables.get(name) or variables.get(name.upper()) or ""
    return found if _is_address(found) else ""


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return bool(parts.scheme and parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _from_files(variables: Mapping[str, str]) -> dict[str, str]:
    """The proxies of a `.env` file: of the working directory, of the home, or beside the home."""
    home = Path(variables["MOSAIC_HOME"]) if variables.get("MOSAIC_HOME") else Home.resolve().root
    for folder in (Path.cwd(), home, home.parent):
        try:
            lines = (folder / ".env").read_text().splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        pairs = (line.strip().removeprefix("export ").partition("=") for line in lines if "=" in line)
        named = {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}
        found = {name: named[name] for name in (HTTP_VARIABLE, HTTPS_VARIABLE) if named.get(name)}
        if found:
            return found
    return {}
