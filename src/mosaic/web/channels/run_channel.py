"""One run: its record whenever it changes, and the tags that it has logged."""

import asyncio
from dataclasses import asdict

from mosaic.errors import RunNotFound
from mosaic.rpc.run_operations import RUN_VERBS
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE
from mosaic.web.channels.page_channel import PATIENCE_S, Channel

PAUSE_S = 0.3
TAGS_EACH_S = 3.0
LEFT_OUT = ("run_dir", "client_key", "pid", "config_digest")
"""Of no use to a reader in a browser."""


class RunChannel(Channel):
    """Ends with the run's deletion."""

    async def work(self) -> None:
        run_id = (await self.ask(lambda: self.news.run(self.word("run")))).run_id
        told: object = None
        tags: list[str] = []
        looked = -TAGS_EACH_S
        version = -1
        clock = asyncio.get_running_loop().time
        while True:
            record = self.news.records.get(run_id) or await self.ask(lambda: self.news.client.get(run_id))
            if record.deleted:
                raise RunNotFound(run_id, hint="it was deleted")
            if clock() - looked >= TAGS_EACH_S or record.state not in LIVE:
                looked = clock()
                tags = list(await self.ask(lambda: self.news.client.tags(run_id)))
            found = shown(record)
            if (found, tags) != told:
                told = (found, tags)
                await self.tell(run=found, tags=tags)
            await asyncio.sleep(PAUSE_S)
            wait_s = TAGS_EACH_S if record.state in LIVE else PATIENCE_S
            version = await self.news.runs_changed.after(version, at_most_s=wait_s)


def shown(record: RunRecord) -> dict[str, object]:
    """What the page gets of a run, with what can be done to it now."""
    found: dict[str, object] = {name: value for name, value in asdict(record).items() if name not in LEFT_OUT}
    found["state"] = record.state.value
    found["live"] = record.state in LIVE
    found["done"] = record.done
    found["eta_s"] = record.eta_s
    found["verbs"] = [name for name, verb in RUN_VERBS.items() if record.state in verb.states and name != "delete"]
    return found
