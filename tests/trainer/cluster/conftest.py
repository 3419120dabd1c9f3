"""Real other machines, as far as one machine can be several: an sshd with a disk folder and a /dev/shm of its own."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from patience import looks
from processes import end_all_of

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
HERE = Path(__file__).parent
DAEMON_FLAGS = ("--no-warm", "--lease-s", "16", "--stop-s", "6", "--cpus", "2")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("cluster")


class Node:
    """A host that is reached over ssh alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self.port = _free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Node":
        for name in ("hostkey", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)], check=True)
        shutil.copy(self.folder / "key.pub", self.folder / "authorized_keys")
        kind, key = (self.folder / "hostkey.pub").read_text().split()[:2]
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {kind} {key}\n")
        lines = [
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.folder}/hostkey",
            f"AuthorizedKeysFile {self.folder}/authorized_keys",
            f"PidFile {self.folder}/sshd.pid",
            "PasswordAuthentication no",
            "UsePAM no",
            "StrictModes no",
            "PermitRootLogin yes",
            f"SetEnv PYTHONPATH={HERE.parents[1]}/support OMP_NUM_THREADS=1",
        ]
        (self.folder / "sshd_config").write_text("\n".join(lines) + "\n")
        self.listen()
        return self

    def listen(self) -> None:
        """Without a /dev/shm in common: live frames must come over the link."""
        Path("/run/sshd").mkdir(exist_ok=True)
        inner = f"mount -t tmpfs tmpfs /dev/shm && exec {SSHD} -D -e -f {self.folder}/sshd_config"
        with (self.folder / "sshd.log").open("ab") as log:
            self.process = subprocess.Popen(["unshare", "-m", "sh", "-c", inner], stderr=log, start_new_session=True)
        for _ in looks(60):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
        raise AssertionError((self.folder / "sshd.log").read_text())

    def hosts(self, *, slots: int = 4, **further: Any) -> str:
        words = [
            "-p",
            str(self.port),
            "-i",
            f"{self.folder}/key",
            "-o",
            f"UserKnownHostsFile={self.folder}/known_hosts",
        ]
        table: dict[str, Any] = {
            "address": "127.0.0.1",
            "slots": slots,
            "python": sys.executable,
            "scratch": str(self.scratch),
            "ssh": words,
            **further,
        }
        return "[node]\n" + "".join(f"{name} = {value!r}\n" for name, value in table.items()).replace("'", '"')

    def agents(self, run_id: str) -> list[int]:
        return [pid for pid, line in _lines() if "mosaic.agent" in line and "run" in line and run_id in " ".join(line)]

    def workers(self, run_id: str) -> list[int]:
        """Leaders of their sessions: what steps an environment is theirs."""
        found = [pid for pid, line in _lines() if "cleanrl_worker.cli" in line and run_id in " ".join(line)]
        return [pid for pid in found if os.getsid(pid) == pid]

    def sessions(self) -> list[int]:
        """Processes of sshd that carry connections."""
        assert self.process is not None
        return [child.pid for child in psutil.Process(self.process.pid).children(recursive=True)]

    def close(self) -> None:
        if self.process is not None:
            for pid in [*self.sessions(), self.process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
        for pid, line in _lines():
            if str(self.scratch) in " ".join(line):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        end_all_of(self.scratch)


def _lines() -> list[tuple[int, list[str]]]:
    found: list[tuple[int, list[str]]] = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append((process.pid, process.info["cmdline"] or []))
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    if SSHD is None or shutil.which("ssh") is None:
        pytest.skip("there is no sshd here: 'make test-cluster' installs it")
    if os.geteuid() != 0:
        pytest.skip("an sshd of our own with a private /dev/shm needs root")
    made = Node(tmp_path_factory.mktemp("node"))
    try:
        yield made.start()
    finally:
        made.close()


@pytest.fixture(scope="module")
def cluster(module_daemons: Callable[..., Any], node: Node) -> Any:
    """A daemon with the node as its host."""
    daemon = module_daemons(*DAEMON_FLAGS)
    daemon.home.hosts.write_text(node.hosts())
    return daemon.start()
