"""The end of a run's log, and each line that comes: stdout, stderr and events in one order of time."""

import asyncio
from typing import Any

from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.client import Client
from mosaic.spec.logs.log_line import LONGEST_SEARCH
from mosaic.spec.states import LIVE
from mosaic.web.channels.page_channel import PATIENCE_S, Channel

LAST = 400
"""Lines that are told at first."""
PAGE = 1000
LIVE_S = 0.5
FEW = 60
"""Lines that fill a page: with fewer, nothing can be scrolled, so earlier ones could not be asked for."""
SOURCES = ("stdout", "stderr", "events")


class LogChannel(Channel):
    """Follows until the page closes it."""

    async def work(self) -> None:
        run_id = self.word("run")
        wanted = filter_of(self.words("sources", most=3), self.word("level"), self.word("text"))
        page = await self.ask(
            lambda: self.news.client.log_page(pb.ReadLogRequest(run_id=run_id, before=LAST, filter=wanted))
        )
        await self.tell(**shown(page), fresh=True)
        first, last = page, page.last
        while len(page.lines) < FEW and not page.is_start:
            page = await self.ask(lambda page=page: with_earlier(self.news.client, run_id, page, wanted, LAST))
        if page is not first:
            await self.tell(**shown(page), fresh=True)
        page.last.CopyFrom(last)
        while True:
            version = self.news.runs_changed.version
            record = self.news.records.get(run_id)
            is_live = record is None or record.state in LIVE
            request = pb.ReadLogRequest(run_id=run_id, place=page.last, after=PAGE, filter=wanted)
            page = await self.ask(lambda request=request: self.news.client.log_page(request))
            if page.lines:
                await self.tell(**shown(page), fresh=False)
            if page.is_end:
                if is_live:
                    await asyncio.sleep(LIVE_S)
                else:
                    await self.news.runs_changed.after(version, at_most_s=PATIENCE_S)


def filter_of(sources: list[str], level: str, text: str) -> pb.LogFilter:
    return pb.LogFilter(sources=[one for one in sources if one in SOURCES], level=level, text=text[:LONGEST_SEARCH])


def with_earlier(client: Client, run_id: str, page: pb.LogPage, wanted: pb.LogFilter, count: int) -> pb.LogPage:
    """A page and what stands before it, as far as the daemon looks at once: where little fits that may be nothing."""
    request = pb.ReadLogRequest(run_id=run_id, place=page.first, before=count, filter=wanted)
    earlier = client.log_page(request)
    earlier.lines.extend(page.lines)
    return earlier


def shown(page: pb.LogPage) -> dict[str, Any]:
    lines = [[line.source, line.level, line.time, line.text] for line in page.lines]
    first = page.first
    return {"lines": lines, "first": [first.stdout, first.stderr, first.events], "is_start": page.is_start}
