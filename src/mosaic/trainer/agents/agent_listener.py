"""Where agents link to the daemon: one thread for all of their streams, a few for the disk.

A socket of its own, apart from that of clients: who reaches it can do nothing without the token of a start, and with it
nothing but for that one run.
"""

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from mosaic.errors import MosaicError, UnsafePath
from mosaic.log import get_logger
from mosaic.rpc import agent_pb2 as wire
from mosaic.rpc.channel import MAX_MESSAGE_BYTES
from mosaic.spec.run_dir import Home
from mosaic.trainer.agents.agent_link import AgentLink, OtherVersion, bearer
from mosaic.trainer.agents.agents import Agents, NotReady
from mosaic.trainer.agents.leases import OldStart
from mosaic.trainer.agents.watched_frames import WatchedFrames

DISK_THREADS = 4
LINK = "/mosaic.v1.Agents/Link"
READY_S = 30.0
END_S = 1.0

log = get_logger()


class AgentListener:
    """Listens from `start` to `close`."""

    def __init__(self, agents: Agents, frames: WatchedFrames, path: Path) -> None:
        self._agents = agents
        self._frames = frames
        self._path = path
        self._executor = ThreadPoolExecutor(DISK_THREADS, "agent-files")
        self._links: dict[str, asyncio.Task[Any]] = {}
        self._followed: set[asyncio.Task[Any]] = set()
        """Streams whose place another one takes."""
        self._loop = asyncio.new_event_loop()
        self._ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="agents", daemon=True)
        self._ending = asyncio.Event()

    def start(self) -> None:
        self._thread.start()
        self._ready.result(READY_S)
        self._agents.address = str(self._path)

    def close(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        self._executor.shutdown()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:  # A border: the thread that waits for us is told.
            if not self._ready.done():
                self._ready.set_exception(error)
            else:
                log.error("agents.listener_ended", exc_info=error)
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        size = MAX_MESSAGE_BYTES
        server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", size),
                ("grpc.max_send_message_length", size),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
                ("grpc.keepalive_time_ms", 20_000),
                ("grpc.keepalive_timeout_ms", 10_000),
            ]
        )
        handler = grpc.stream_stream_rpc_method_handler(
            self._link,
            request_deserializer=wire.FromAgent.FromString,
            response_serializer=wire.ToAgent.SerializeToString,
        )
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("mosaic.v1.Agents", {"Link": handler}),))
        self._path.unlink(missing_ok=True)
        old_mask = os.umask(0o177)
        try:
            server.add_insecure_port(f"unix:{self._path}")
        finally:
            os.umask(old_mask)
        await server.start()
        self._ready.set_result(None)
        await self._ending.wait()
        await server.stop(END_S)
        # They wait for their disk threads, and would be left in the middle of it.
        if left := set(self._links.values()):
            await asyncio.wait(left)

    async def _link(self, messages: AsyncIterator[wire.FromAgent], context: Any) -> None:
        try:
            first = await anext(messages, None)
            if first is None or first.WhichOneof("said") != "hello":
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "an agent begins with its Hello")
                return
            hello = first.hello
            start = self._agents.admit(hello.run_id, hello.epoch, bearer(context))
            # An older stream of the same agent may not have been missed yet: it must not write beside this one.
            await self._end_older(hello.run_id)
            me = asyncio.current_task()
            assert me is not None
            self._links[hello.run_id] = me
            try:
                await AgentLink(self._agents, self._frames, start, self._executor).carry(hello, messages, context.write)
            finally:
                if self._links.get(hello.run_id) is me:
                    del self._links[hello.run_id]
        except NotReady as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
        except (OldStart, UnsafePath, OtherVersion) as error:
            log.warning("agent.refused", error=str(error))
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task not in self._followed:
                raise
            # gRPC would leave the client waiting for the end of a call that was cancelled from within.
            self._followed.discard(task)
            task.uncancel()
            await context.abort(grpc.StatusCode.ABORTED, "another stream of this agent has taken the place of this one")
        except (MosaicError, OSError) as error:
            # The agent links again, and both sides compare their files.
            log.warning("agent.broken", error=str(error))
            await context.abort(grpc.StatusCode.ABORTED, str(error))

    async def _end_older(self, run_id: str) -> None:
        older = self._links.get(run_id)
        if older is not None:
            self._followed.add(older)
            older.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):  # A border: its end is all that counts.
                await asyncio.wait([older])


def socket_of(home: Home, clients: Path) -> Path:
    """Beside the socket of clients, in the same private folder."""
    return home.agents_socket if clients == home.socket else clients.with_suffix(".agents")
