"""`python -m cleanrl_worker.sdk.bdi.spade_server`: SPADE's embedded XMPP server, and a SPADE agent for each seat.

In a process of its own: the server wants the main thread and its signals. Standard input is a JSON object a line:
    {"join": "player_1"}                                       an agent player_1@localhost
    {"id": 3, "from": "player_1", "to": ["player_2"], "ilf": "tell", "body": "way(left)"}
    {"leave": "player_1"}
Standard output, the same way: {"port": 40123} once it listens, {"joined": "player_1"}, {"sent": 3}, a {"problem": "…"}
with the name or number that it is "of", and
    {"for": "player_2", "id": 3, "ilf": "tell", "body": "way(left)", "source": "player_1@localhost"}
Messages are those of SPADE-BDI (performative BDI, ilf_type in the metadata), so its agents can be on the other side. It
listens on 127.0.0.1 alone and ends when its standard input does.
"""

import asyncio
import json
import secrets
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import pyjabber
from loguru import logger
from pyjabber.server import Server
from pyjabber.server_parameters import Parameters
from spade.agent import Agent
from spade.behaviour import CyclicBehaviour
from spade.container import Container
from spade.message import Message
from spade.template import Template

HOST = "localhost"
LOOK_S = 0.5


class Ear(CyclicBehaviour):
    """Hands on what comes."""

    async def run(self) -> None:
        message, agent = await self.receive(timeout=LOOK_S), self.agent
        if message is not None and agent is not None:
            say(
                {
                    "for": agent.name,
                    "id": message.get_metadata("mosaic_id"),
                    "ilf": message.get_metadata("ilf_type"),
                    "body": message.body,
                    "source": str(message.sender.bare),
                }
            )


class SpadeServer:
    def __init__(self, port: int) -> None:
        self._port = port
        self._agents: dict[str, Agent] = {}
        self._ears: dict[str, Ear] = {}

    async def run(self) -> None:
        """Until no agent is connected."""
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            command = json.loads(line)
            try:
                await self._do(command)
            except Exception as error:  # A border: the server or a client of it may raise anything.
                say({"problem": f"{error!r}", "of": command.get("join", command.get("id"))})
        for name in list(self._agents):
            await self._leave(name)

    async def _do(self, command: dict[str, Any]) -> None:
        if name := command.get("join"):
            agent = Agent(f"{name}@{HOST}", secrets.token_urlsafe(16), port=self._port)
            ear = Ear()
            agent.add_behaviour(ear, Template(metadata={"performative": "BDI"}))
            await agent.start(auto_register=True)
            self._agents[name], self._ears[name] = agent, ear
            say({"joined": name})
        elif name := command.get("leave"):
            await self._leave(name)
        else:
            data = {"performative": "BDI", "ilf_type": command["ilf"], "mosaic_id": str(command["id"])}
            for receiver in command["to"]:
                address = receiver if "@" in receiver else f"{receiver}@{HOST}"
                await self._ears[command["from"]].send(Message(to=address, body=command["body"], metadata=data))
            say({"sent": command["id"]})

    async def _leave(self, name: str) -> None:
        if agent := self._agents.pop(name, None):
            await agent.stop()


def say(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def free_port(wanted: int = 0) -> int:
    """This one, or any; OSError if it is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", wanted))
        return int(probe.getsockname()[1])


async def serve(port: int, certificates: Path) -> None:
    # It makes its certificate beside these; its own folder, which is the default, may not be ours to write to.
    for name in ("ca_cert.pem", "ca_key.pem"):
        shutil.copy(Path(pyjabber.__file__).parent / "network" / "certs" / name, certificates)
    server: Any = Server(
        Parameters(
            host=HOST,
            client_port=port,
            server_port=free_port(),
            database_in_memory=True,
            cert_path=str(certificates),
        )
    )
    # It would also listen on the address by which this machine is known to others, and let any program register; and
    # it would show its users to every browser, on a port that only one of two sessions can have.
    server._public_ip = server._http_server = None
    running = asyncio.create_task(server.start())
    await server.ready.wait()
    say({"port": port})
    await SpadeServer(port).run()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def main() -> int:
    logger.remove()
    wanted, certificates = int(sys.argv[1]), Path(sys.argv[2])
    try:
        port = free_port(wanted)
    except OSError as error:
        # Asked before: the server would end this process without a word.
        say({"problem": f"port {wanted} of 127.0.0.1 cannot be used: {error.strerror}"})
        return 1
    container: Any = Container()
    container.run(serve(port, certificates))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
