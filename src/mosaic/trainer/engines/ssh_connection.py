"""What the engine `ssh` has ssh do: a tunnel that stays, and short commands.

The tunnel leads from a socket on the host to the daemon's socket for agents. Its name is new each time, because a
host may keep one whose connection broke; a link with a name that stays leads to the newest. The remote end reads until
its input ends, which it does when the daemon ends, so no tunnel outlives the daemon.
"""

import contextlib
import json
import os
import re
import secrets
import shlex
import subprocess
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from mosaic import __version__
from mosaic.errors import MosaicError
from mosaic.spec.processes import secret_keys
from mosaic.trainer.engines.ssh_hosts import Host

COMMAND_S = 60.0
UP = "tunnel is up"
LAST_LINES = 5
SOCKETS = re.compile(r"/[A-Za-z0-9._/-]+")
WORDS = (
    *("-o", "BatchMode=yes"),
    *("-o", "ConnectTimeout=10"),
    *("-o", "ServerAliveInterval=10"),
    *("-o", "ServerAliveCountMax=3"),
    *("-o", "ExitOnForwardFailure=yes"),
)


class NoConnection(MosaicError):
    """A host cannot be reached, or is not as the agent needs it."""


def command(name: str, host: Host, remote: str, *further: str) -> list[str]:
    return ["ssh", *WORDS, *host.ssh, *further, host.address or name, remote]


def agent_words(host: Host, *words: str) -> str:
    """The agent's program, as a POSIX shell reads it."""
    # Not quoted where a user wrote ~, which the shell there is to resolve.
    python = host.python if host.python.startswith("~/") and " " not in host.python else shlex.quote(host.python)
    return f"exec {python} -P -m mosaic.agent {shlex.join(words)}"


def ask(name: str, host: Host, *words: str, document: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What the agent's program on a host answers, an object; NoConnection says why not."""
    try:
        done = subprocess.run(
            command(name, host, agent_words(host, *words)),
            input=json.dumps(document or {}),
            capture_output=True,
            text=True,
            errors="replace",
            env=_variables(),
            timeout=COMMAND_S,
            check=False,
        )
    except FileNotFoundError as error:
        raise NoConnection("there is no ssh on this machine: install openssh-client") from error
    except subprocess.TimeoutExpired as error:
        raise NoConnection(f"{name} did not answer within {COMMAND_S:.0f} s") from error
    try:
        answer: Any = json.loads(done.stdout.strip().rpartition("\n")[2])
    except (ValueError, RecursionError):
        raise NoConnection(_reason(name, host, done.returncode, done.stderr)) from None
    if not isinstance(answer, dict):
        raise NoConnection(f"{name}: {host.python} answered something else than the agent of MOSAIC does")
    return cast("dict[str, Any]", answer)


@dataclass(frozen=True)
class Ready:
    """What a host says of itself."""

    sockets: str
    """Folder for tunnels."""
    cores: int
    free_bytes: int


def prepare(name: str, host: Host) -> Ready:
    """NoConnection if it is not as the agent needs it."""
    answer = ask(name, host, "prepare", "--scratch", host.scratch)
    if answer.get("version") != __version__:
        raise NoConnection(
            f"{name} has MOSAIC {answer.get('version')}, this is {__version__}; install that version there"
        )
    sockets, cores, free_bytes = answer.get("sockets"), answer.get("cores"), answer.get("free_bytes")
    # ssh puts variables of this machine into the path of a forwarded socket.
    if not isinstance(sockets, str) or not SOCKETS.fullmatch(sockets):
        raise NoConnection(
            f"{name}: its folder of sockets is {sockets!r}; choose a scratch folder of letters, digits, . _ and -"
        )
    if type(cores) is not int or type(free_bytes) is not int:
        raise NoConnection(f"{name}: {host.python} answered something else than the agent of MOSAIC does")
    return Ready(sockets, cores, free_bytes)


def _variables() -> dict[str, str]:
    """Without keys: the user's own file for ssh may send variables to a host."""
    return secret_keys.without(os.environ)


def _reason(name: str, host: Host, code: int, said: str) -> str:
    last = "; ".join(line.strip() for line in said.splitlines()[-LAST_LINES:] if line.strip())
    if "No module named" in last:
        return (
            f"{name}: {host.python} has no mosaic-rl ({last}); install it there: {host.python} -m pip install mosaic-rl"
        )
    if code == 127:
        return f"{name}: there is no {host.python}; name the python of an environment with mosaic-rl in hosts.toml"
    if "Host key verification failed" in last:
        return f"{name}: its host key is not known; type 'ssh {host.address or name}' once and compare it"
    if "Permission denied" in last:
        return f"{name}: {last}; ssh must get in without a password: ssh-copy-id {host.address or name}"
    return f"{name}: {last or f'ssh ended with code {code}'}"


class Tunnel:
    """One connection to a host, with the daemon's socket at its other end."""

    def __init__(self, name: str, host: Host, *, folder: str, home_id: str, local: str) -> None:
        self._name = name
        self._host = host
        socket = f"{folder}/{home_id}-{secrets.token_hex(4)}.sock"
        link = shlex.quote(f"{folder}/{home_id}.sock")
        # The link is swapped by a rename: an agent that links just then finds the old one or the new one.
        swap = f"ln -sfn {shlex.quote(socket)} {link}.new && mv -fT {link}.new {link}"
        remote = f"{swap} && echo '{UP}' && cat >/dev/null; rm -f {shlex.quote(socket)}"
        self._said: deque[str] = deque(maxlen=LAST_LINES)
        self._up = threading.Event()
        self._process = subprocess.Popen(
            command(name, host, remote, "-R", f"{socket}:{local}"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=_variables(),
            start_new_session=True,
        )
        self._readers = [
            threading.Thread(target=self._read, args=(stream,), name="ssh", daemon=True)
            for stream in (self._process.stdout, self._process.stderr)
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: Any) -> None:
        with stream:
            for line in stream:
                if line.strip() == UP:
                    self._up.set()
                else:
                    self._said.append(line.rstrip())

    def wait_until_up(self, timeout_s: float) -> None:
        """NoConnection if it does not come up."""
        waited = 0.0
        while not self._up.wait(0.1):
            waited += 0.1
            if not self.is_alive or waited > timeout_s:
                self.close()
                raise NoConnection(
                    _reason(self._name, self._host, self._process.returncode or 0, "\n".join(self._said))
                )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        for reader in self._readers:
            reader.join()
