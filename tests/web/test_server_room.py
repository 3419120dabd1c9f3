"""What all pages may take together is bounded: threads, curves, and the bytes of a request."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
from starlette.requests import Request

from mosaic.web.binned_curve import BINS, BinnedCurve
from mosaic.web.channels.curves_channel import MOST_RUNS, MOST_TAGS
from mosaic.web.json_answers import BodyTooLong, body_of
from mosaic.web.request_guard import MOST_BODY
from mosaic.web.server_room import ALL_BINS, CHANNEL_BINS, NoRoom, ServerRoom, Share, bins_of

PATIENCE_S = 60


def test_a_call_that_was_given_up_keeps_its_thread() -> None:
    """Pages that come and go while the daemon does not answer make no further threads, and no further calls."""
    answered, begun = threading.Event(), threading.Semaphore(0)
    calls: list[int] = []

    def call(number: int) -> None:
        calls.append(number)
        begun.release()
        assert answered.wait(PATIENCE_S)

    async def come_and_go() -> None:
        room = ServerRoom(threads=2)
        for number in range(10):
            task = asyncio.create_task(room.ask(lambda number=number: call(number)))
            if number < 2:
                assert await asyncio.to_thread(begun.acquire, timeout=PATIENCE_S)
            else:
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert calls == [0, 1]
        assert await asyncio.wait_for(room.compute(lambda: "computed"), PATIENCE_S) == "computed"
        answered.set()
        assert await room.ask(lambda: "next") == "next"
        room.close()

    asyncio.run(come_and_go())
    assert calls == [0, 1]


def test_the_curves_of_one_page_and_of_all_have_a_bound() -> None:
    for curves in (1, 24, 100, 128, 129, 800, MOST_RUNS * MOST_TAGS):
        assert bins_of(curves) * curves <= CHANNEL_BINS
        assert bins_of(curves) >= 64
    assert bins_of(128) == BINS
    bytes_of_bin = sum(column.nbytes for column in vars(BinnedCurve(64)).values() if hasattr(column, "nbytes")) / 64
    assert ALL_BINS * bytes_of_bin <= 50e6


def test_what_is_given_back_can_be_taken_again() -> None:
    share = Share(3, "the room is full; close a page")
    with share.held(2):
        with pytest.raises(NoRoom, match="close a page"), share.held(2):
            pass
        with share.held():
            assert share.taken == 3
    assert share.taken == 0


def test_a_body_that_is_too_long_is_not_read_to_its_end() -> None:
    pieces: Iterator[bytes] = iter([bytes(MOST_BODY // 4)] * 100)

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": next(pieces), "more_body": True}

    request = Request({"type": "http", "method": "POST", "path": "/", "headers": []}, receive)
    with pytest.raises(BodyTooLong, match="must be shorter than"):
        asyncio.run(body_of(request))
    assert len(list(pieces)) == 95
