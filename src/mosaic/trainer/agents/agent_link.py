"""One agent's stream, from its Hello to its end: leases out, files in, commands and frames between them."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

from mosaic import __version__, config
from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.relay import relayed_files
from mosaic.relay.file_states import FileStates
from mosaic.relay.received_files import ReceivedFiles, RelayBroken
from mosaic.relay.sent_files import whole_file
from mosaic.rpc import agent_pb2 as wire
from mosaic.trainer.agents.agents import Agents, words_of
from mosaic.trainer.agents.leases import OldStart
from mosaic.trainer.agents.starts import Start
from mosaic.trainer.agents.watched_frames import WatchedFrames

T = TypeVar("T")
IN_ADVANCE = 8
"""Messages for a node that wait for its network, at most, while files are brought to it."""
MOST_UNSENT = 1024
"""Messages that an agent has not read: what comes from it is not read either until it does."""
MOST_UNREAD = 16
"""Messages with files that wait for the disk; an agent has fewer of them under way."""

log = get_logger()


class OtherVersion(MosaicError):
    """The agent is of another version of MOSAIC."""


class AgentLink:
    """Lives in the loop of the listener; disks are for its executor."""

    def __init__(self, agents: Agents, frames: WatchedFrames, start: Start, executor: Executor) -> None:
        self._agents = agents
        self._frames = frames
        self._start = start
        self._executor = executor
        self._loop = asyncio.get_running_loop()
        self._outbox: asyncio.Queue[wire.ToAgent] = asyncio.Queue(MOST_UNSENT)
        self._inbox: asyncio.Queue[wire.FromAgent | None] = asyncio.Queue(MOST_UNREAD)
        """What has to do with files; None is the end of the stream."""
        self._stuck: asyncio.Future[None] = self._loop.create_future()
        self._files: ReceivedFiles | None = None
        self._taken = 0
        self._is_done = False

    async def carry(
        self,
        hello: wire.Hello,
        messages: AsyncIterator[wire.FromAgent],
        write: Callable[[wire.ToAgent], Awaitable[None]],
    ) -> None:
        """Until the stream ends, or what comes does not fit."""
        if hello.version != __version__ and not hello.started:
            raise OtherVersion(
                f"{hello.host} has MOSAIC {hello.version}, the daemon {__version__}; install that version there"
            )
        file = self._start.file
        if file.begun_by and file.begun_by != hello.folder_id:
            # Its disk may be gone, or the name of the host leads to another machine: a worker may live there.
            other = f"start {file.epoch} of run {file.run_id} was begun in another folder"
            raise OldStart(f"{other}; its lease is waited for")
        reader = asyncio.create_task(self._read_all(messages))
        writer = asyncio.create_task(self._write_all(write))
        server = asyncio.create_task(self._serve(hello))
        running: set[asyncio.Future[Any]] = {reader, writer, server, self._stuck}
        try:
            while not server.done():
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for one in done:
                    one.result()
        finally:
            self._go()
            for one in (reader, writer, server, self._stuck):
                one.cancel()
            await asyncio.gather(reader, writer, server, self._stuck, return_exceptions=True)
            if self._files is not None:
                await self._work(self._files.close)

    async def _serve(self, hello: wire.Hello) -> None:
        """From the Hello on, one after the other: what takes the time of a disk."""
        start, root = self._start, self._start.run_dir.root
        terms = self._agents.leases.terms
        if hello.started:
            # At once: its worker does not wait until a large run has been read.
            self._agents.grant(start)
            await self._outbox.put(wire.ToAgent(granted=self._granted(0)))
        self._files = await self._work(lambda: ReceivedFiles(root))
        states = await self._work(FileStates(root).all)
        if not hello.started:
            # Before the agent hears of it: its own end of the lease is then the earlier one.
            self._agents.grant(start)
        assignment = json.dumps(config.to_json(start.file)["assignment"]).encode()
        welcome = wire.Welcome(assignment_json=assignment, lease_s=terms.lease_s, grace_s=terms.grace_s, files=states)
        await self._outbox.put(wire.ToAgent(welcome=welcome))
        self._come(hello)
        if not hello.started:
            await self._bring(states)
            await self._work(lambda: self._agents.begun(start, hello.folder_id))
            await self._outbox.put(wire.ToAgent(all_brought=wire.AllBrought()))
        for message in start.commands():
            await self._outbox.put(message)
        while (message := await self._inbox.get()) is not None:
            await self._take(self._files, message)

    async def _read_all(self, messages: AsyncIterator[wire.FromAgent]) -> None:
        """What needs no disk is answered here: a renewal does not wait behind files."""
        file = self._start.file
        async for message in messages:
            if self._is_done:
                continue  # All of it is here; the agent is about to hear so.
            self._agents.check(self._start)
            match message.WhichOneof("said"):
                case "renew":
                    self._agents.grant(self._start)
                    await self._outbox.put(wire.ToAgent(granted=self._granted(message.renew.number)))
                case "status":
                    with self._start.lock:
                        self._start.pid, self._start.would_save = message.status.pid, message.status.would_save
                    self._agents.wake()
                case "frame":
                    self._frames.take(file.run_id, message.frame)
                case _:
                    await self._inbox.put(message)
            with self._start.lock:
                self._start.linked_at = self._agents.clock()
        await self._inbox.put(None)

    def _granted(self, number: int) -> wire.Granted:
        terms = self._agents.leases.terms
        return wire.Granted(number=number, lease_s=terms.lease_s, grace_s=terms.grace_s)

    def _come(self, hello: wire.Hello) -> None:
        with self._start.lock:
            self._start.host, self._start.is_linked = words_of(hello.host), True
            self._start.linked_at = self._agents.clock()
            self._start.tell = self._tell
        log.info("agent.linked", run_id=hello.run_id, epoch=hello.epoch, host=hello.host, pid=hello.pid)
        self._agents.wake()

    def _go(self) -> None:
        with self._start.lock:
            self._start.is_linked, self._start.tell = False, None
        self._frames.lost(self._start.file.run_id)
        log.info("agent.unlinked", run_id=self._start.file.run_id, epoch=self._start.file.epoch)

    def _tell(self, message: wire.ToAgent) -> None:
        """From any thread."""
        with contextlib.suppress(RuntimeError):  # The loop has been closed: the daemon ends.
            self._loop.call_soon_threadsafe(self._put, message)

    def _put(self, message: wire.ToAgent) -> None:
        try:
            self._outbox.put_nowait(message)
        except asyncio.QueueFull:
            if not self._stuck.done():
                self._stuck.set_exception(RelayBroken("the agent does not read what it is told"))

    async def _write_all(self, write: Callable[[wire.ToAgent], Awaitable[None]]) -> None:
        while True:
            await write(await self._outbox.get())
            self._outbox.task_done()

    async def _bring(self, states: list[wire.FileState]) -> None:
        """What the worker goes on from."""
        root = self._start.run_dir.root
        folders: dict[str, wire.FolderDone] = {}
        for state in states:
            if not relayed_files.is_brought(state.path):
                continue
            if relayed_files.how_of(state.path) == "folder":
                name = relayed_files.folder_of(state.path)
                folders.setdefault(name, wire.FolderDone(path=name)).files.append(state)
            pieces = whole_file(root, state.path)
            while (piece := await self._work(lambda pieces=pieces: next(pieces, None))) is not None:
                await self._outbox.put(wire.ToAgent(piece=piece))
                if self._outbox.qsize() >= IN_ADVANCE:
                    await self._outbox.join()
        for folder in folders.values():
            await self._outbox.put(wire.ToAgent(folder=folder))

    async def _take(self, files: ReceivedFiles, message: wire.FromAgent) -> None:
        if self._is_done:
            return
        self._agents.check(self._start)
        match message.WhichOneof("said"):
            case "piece":
                await self._take_file(lambda: files.take(message.piece), wake=message.piece.path == "events.jsonl")
            case "folder":
                await self._take_file(lambda: files.commit(message.folder), wake=False)
            case "gone":
                await self._take_file(lambda: files.remove(message.gone.path), wake=False)
            case "ended":
                await self._conclude(message.ended)
            case _:
                pass

    async def _take_file(self, take: Callable[[], None], *, wake: bool) -> None:
        await self._work(take)
        self._taken += 1
        await self._outbox.put(wire.ToAgent(taken=wire.Taken(messages=self._taken)))
        if wake:
            self._agents.wake()

    async def _conclude(self, ended: wire.Ended) -> None:
        """What the agent has and what is here are the same, byte for byte, or both sides compare once more."""
        strange = [state.path for state in ended.files if relayed_files.how_of(state.path) is None]
        if strange:
            raise RelayBroken(f"'{strange[0]}' does not travel")
        states = FileStates(self._start.run_dir.root)
        here = await self._work(lambda: states.of([state.path for state in ended.files]))
        differing = [ours.path for ours, theirs in zip(here, ended.files, strict=False) if ours != theirs]
        if len(here) != len(ended.files) or differing:
            raise RelayBroken(
                f"not everything is here as it is there: {', '.join(differing[:5]) or 'files are missing'}"
            )
        self._is_done = True
        await self._work(lambda: self._agents.ended(self._start, ended))
        await self._outbox.put(wire.ToAgent(done=wire.AllDone()))
        await self._outbox.join()

    async def _work(self, work: Callable[[], T]) -> T:
        """On a thread for disks. Its end is waited for in any case: nothing writes beside the next stream."""
        future = self._loop.run_in_executor(self._executor, work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])
            raise


def bearer(context: Any) -> str:
    metadata: Any = context.invocation_metadata() or ()
    given = next((str(value) for key, value in metadata if key == "authorization"), "")
    return given.removeprefix("Bearer ")
