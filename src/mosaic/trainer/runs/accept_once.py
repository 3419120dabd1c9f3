"""A submit makes its runs once, however often the client asks with the same key."""

from collections.abc import Callable, Sequence

from mosaic.spec.files import disk_room
from mosaic.spec.run_record import RunRecord
from mosaic.trainer.runs import submit
from mosaic.trainer.runs.submit import Accepted
from mosaic.trainer.runs.supervisor import Supervisor
from mosaic.trainer.serving.streams import CallerGone


def accept_once(
    supervisor: Supervisor, accepted: Sequence[Accepted], *, client_key: str, is_wanted: Callable[[], bool]
) -> tuple[list[RunRecord], bool]:
    """The runs of this submit, and whether an earlier one with this key has made some of them."""
    # Before that an earlier run with this key, or with a higher id, may not be known.
    supervisor.indexing.wait_until_listed(is_wanted)
    home, store = supervisor.home, supervisor.store
    with supervisor.submitting:
        if not is_wanted():
            # The caller has given up, and asks again with the same key if the run is still wanted.
            raise CallerGone
        known = store.by_key(client_key) if client_key else []
        missing = submit.still_missing(accepted, known)
        if known and (not missing or len(known) >= len(accepted)):
            return known, True
        # Before anything is made: a worker would fail at once where there is less.
        disk_room.check(home.runs)
        records = submit.write(home, missing, after=store.newest_id)
        for record, item in zip(records, missing, strict=True):
            supervisor.secrets.keep(record.run_id, item.secrets)
        try:
            added = supervisor.add(records)
        except BaseException:
            submit.take_back(home, records)
            raise
        return [*known, *added], bool(known)
