"""With a server that answers, a run is there step for step; with one that does not, nothing is lost."""

import threading
from contextlib import ExitStack

import pytest

from mosaic.track.wandb_sync import SyncFailed, sync

from .conftest import KEY
from .stand_in import serving
from .test_network import listening
from .test_offline import expected, numbers


def test_a_run_is_on_the_server_step_for_step(written, track):
    with serving() as server:
        run = written().start().train(0, 300).save_policy().end(300)
        assert track(run, WANDB_BASE_URL=server.url, WANDB_API_KEY=KEY).wait(300) == 0
        assert (run.export.state, run.export.why, run.export.online) == ("synced", "", True)
        assert run.export.url == f"{server.url}/an-entity/try/runs/{run.export.wandb_id}"
        rows = [{key: value for key, value in row.items() if key[0] != "_"} for row in server.rows]
        assert rows == expected(run)
        assert [row["_step"] for row in server.rows] == list(range(run.export.rows))


def test_an_offline_export_is_uploaded_later_step_for_step(written, track, monkeypatch):
    run = written().start().train(0, 300).save_policy().end(300)
    assert track(run, WANDB_MODE="offline").wait(300) == 0
    with pytest.raises(SyncFailed, match="no API key"):
        sync(run.dir)
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    with serving(refuse=403) as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        with pytest.raises(SyncFailed, match=r"was not uploaded: .*refused by the stand-in"):
            sync(run.dir)
    assert run.export.state == "offline"
    with pytest.raises(SyncFailed, match=r"not reachable: .*refused"):
        sync(run.dir)
    with serving() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        done = sync(run.dir)
        assert (done.state, done.why) == ("synced", "")
        assert done.url.endswith(f"/try/runs/{run.export.wandb_id}")
        rows = [{key: value for key, value in row.items() if key[0] != "_"} for row in server.rows]
        assert rows == expected(run)
        assert sync(run.dir) == done
    assert [path for path in run.dir.root.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


def answer(content: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


FAILING = {
    "wrong key": {"refuse": 401},
    "no such project": {"refuse": 404},
    "overloaded": {"refuse": 503},
    "never answers": {"silent": True},
    "closes": {"says": b""},
    "no JSON": {"says": answer(b"<html>log in to the hotel's network</html>")},
    "no such team": {"says": answer(b'{"errors": [{"message": "entity not found"}], "data": null}')},
}


def test_a_server_that_does_not_take_the_run_leaves_it_offline_and_whole(written, track):
    """It answers the probe; what it does with the run costs no more than the limit, and no row. All ways at once."""
    with ExitStack() as servers:
        started = {}
        for way, how in FAILING.items():
            server = servers.enter_context(serving(**how))
            run = written().start().train(0, 100).end(100)
            variables = {"WANDB_BASE_URL": server.url, "WANDB_API_KEY": KEY, "WANDB_INIT_TIMEOUT": "2"}
            started[way] = (run, track(run, **variables))
        codes = {way: process.wait(300) for way, (_, process) in started.items()}
    assert set(codes.values()) == {0}
    for way, (run, _) in started.items():
        assert run.export.state == "offline", way
        assert "the server refused the run" in run.export.why, way
        assert numbers(run) == expected(run), way
        files = (path for path in run.dir.root.rglob("*") if path.is_file())
        assert [path for path in files if KEY.encode() in path.read_bytes()] == [], way


@pytest.mark.parametrize("way", ["never answers", "closes"])
def test_a_proxy_that_leads_nowhere_leaves_a_run_offline_and_whole(written, track, way):
    done = threading.Event()
    with listening(lambda _: done.wait(300) and None if way == "never answers" else None) as proxy:
        run = written(wandb_use_vpn_proxy=True, wandb_https_proxy=proxy).start().train(0, 50).end(50)
        process = track(run, WANDB_API_KEY=KEY, WANDB_BASE_URL="https://wandb.invalid")
        assert process.wait(300) == 0
        done.set()
    assert (run.export.state, run.export.proxy) == ("offline", proxy)
    assert ("no answer within 5 s" if way == "never answers" else "closed") in run.export.why.lower()
    assert numbers(run) == expected(run)


def test_a_proxy_that_is_not_there_leaves_a_run_offline_and_whole(written, track):
    """Its password is shown nowhere but in the config, where the user put it."""
    run = (
        written(wandb_use_vpn_proxy=True, wandb_http_proxy="http://me:hunter2@127.0.0.1:9").start().train(0, 50).end(50)
    )
    assert track(run, WANDB_API_KEY=KEY).wait(300) == 0
    assert (run.export.state, run.export.proxy) == ("offline", "http://127.0.0.1:9")
    assert "refused" in run.export.why
    assert numbers(run) == expected(run)
    assert "hunter2" not in run.dir.wandb_export.read_text() + run.dir.wandb_log.read_text()
