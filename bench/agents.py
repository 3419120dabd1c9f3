"""`python -m bench.agents --links 200`: what many agents cost the daemon, in threads, memory and processor time.

A process listens as the daemon does; another one is all of the agents. Each of these has a run directory whose events
grow four times a second, and sends what is new. At the end every byte is compared.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

from mosaic import __version__
from mosaic.agent.link_to_daemon import DaemonLink
from mosaic.relay.sent_files import SentFiles
from mosaic.rpc import agent_pb2 as wire
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.trainer.agents.agent_listener import AgentListener
from mosaic.trainer.agents.agents import Agents
from mosaic.trainer.agents.watched_frames import WatchedFrames

TICK_S = 0.25
LINE = b'{"v": 1, "kind": "scalars", "values": {"losses/value_loss": 0.12345, "charts/SPS": 1234}}\n' * 4
WORKERS = 8
"""Threads that write and send for all agents."""


def listen(folder: Path) -> None:
    """As the daemon does, until stdin ends; the tokens are printed."""
    home = Home(folder / "home")
    home.create()
    agents = Agents(home)
    listener = AgentListener(agents, WatchedFrames(), folder / "agents.sock")
    listener.start()
    for _ in range(int(sys.stdin.readline())):
        run_id = new_run_id()
        home.run(run_id).create()
        start = agents.begin(run_id, 1, engine="bench", place="here", assignment={})
        print(run_id, start.file.token, flush=True)
    sys.stdin.read()
    listener.close()


class OneAgent:
    """Its run directory and its link."""

    def __init__(self, folder: Path, socket: Path, run_id: str, token: str) -> None:
        self.root = folder / "nodes" / run_id
        self.root.mkdir(parents=True)
        self._heard = threading.Event()
        self.link = DaemonLink(f"unix:{socket}", token, lambda _message: self._heard.set())
        hello = wire.Hello(run_id=run_id, epoch=1, host="bench", version=__version__, started=True)
        self.link.open(hello)
        self.sent = SentFiles(self.root, self.link.send)

    def wait(self) -> None:
        while not self._heard.wait(0.1):
            self.link.check()

    def grow(self) -> None:
        with (self.root / "events.jsonl").open("ab") as file:
            file.write(LINE)
        self.sent.look()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--links", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--listen", type=Path)
    flags = parser.parse_args()
    if flags.listen:
        listen(flags.listen)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = [sys.executable, "-m", "bench.agents", "--listen", str(folder)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as daemon:
            measure(flags, folder, daemon)


def measure(flags: argparse.Namespace, folder: Path, daemon: "subprocess.Popen[str]") -> None:
    assert daemon.stdin is not None
    assert daemon.stdout is not None
    daemon.stdin.write(f"{flags.links}\n")
    daemon.stdin.flush()
    starts = [daemon.stdout.readline().split() for _ in range(flags.links)]
    process = psutil.Process(daemon.pid)
    print(f"{'links':>6} {'threads':>8} {'resident':>10}")
    print(f"{0:>6} {process.num_threads():>8} {process.memory_info().rss / 2**20:>7.0f} MiB")
    agents = [OneAgent(folder, folder / "agents.sock", run_id, token) for run_id, token in starts]
    for agent in agents:
        agent.wait()
    used, began = sum(process.cpu_times()[:2]), time.monotonic()
    ticks = 0
    while time.monotonic() - began < flags.seconds:
        at = time.monotonic()
        threads = [threading.Thread(target=_grow, args=(agents[first::WORKERS],)) for first in range(WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ticks += 1
        time.sleep(max(0.0, TICK_S - (time.monotonic() - at)))
    took, used = time.monotonic() - began, sum(process.cpu_times()[:2]) - used
    print(f"{flags.links:>6} {process.num_threads():>8} {process.memory_info().rss / 2**20:>7.0f} MiB")
    deadline = time.monotonic() + 300
    runs = Home(folder / "home").runs
    for agent in agents:
        here = (agent.root / "events.jsonl").read_bytes()
        while (there := (runs / agent.root.name / "events.jsonl").read_bytes()) != here:
            assert time.monotonic() < deadline, f"{len(there)} of {len(here)} bytes are there"
            time.sleep(0.05)
    pieces = ticks * flags.links
    cost = f"{used / pieces * 1e3:.2f} ms of processor each"
    print(f"{pieces:,} pieces in {took:.0f} s, {cost}; all {flags.links} files are equal")
    for agent in agents:
        agent.link.close()
    daemon.kill()


def _grow(agents: list[OneAgent]) -> None:
    for agent in agents:
        agent.grow()


if __name__ == "__main__":
    main()
