"""What had to stay offline is uploaded by the daemon once the server answers."""

import os
import socket
import time

from mosaic.track import export_state
from mosaic.track.export_state import Export
from mosaic.trainer.tracking.exporters import Exporters
from mosaic.trainer.tracking.offline_uploads import Uploads

from .conftest import KEY
from .stand_in import Server, serving


def test_an_offline_export_is_uploaded_when_the_server_is_back(written, track, home, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{port}")
    run = written().start().train(0, 100).end(100)
    assert track(run).wait(300) == 0
    assert "refused" in run.export.why
    # What a daemon does that starts after it.
    exporters = Exporters(home, retry_s=0.5)
    monkeypatch.setattr(Server, "port", port)
    deadline = time.monotonic() + 300
    tried = run.dir.wandb_log.stat().st_size
    while run.dir.wandb_log.stat().st_size == tried:
        assert time.monotonic() < deadline
        exporters.tick()
        time.sleep(0.05)
    assert run.export.state == "offline"
    with serving() as server:
        while run.export.state != "synced":
            assert time.monotonic() < deadline
            exporters.tick()
            time.sleep(0.05)
        assert len(server.rows) == run.export.rows
    exporters.forget(run.dir.run_id)


def test_one_that_is_meant_to_be_offline_or_has_no_key_is_left_alone(written):
    run = written().start().end()
    run.dir.wandb.mkdir()
    uploads = Uploads(retry_s=0.0)
    for why, variables in (("WANDB_MODE is 'offline'", {"WANDB_API_KEY": KEY}), ("no API key", {})):
        export_state.write(run.dir, Export(state="offline", why=why, server="http://127.0.0.1:9"))
        uploads.consider(run.dir, {**variables, "HOME": os.environ["HOME"]})
        uploads.tick()
    assert not run.dir.wandb_log.exists()


def test_an_export_that_was_cut_off_stays_offline_if_it_was_meant_to(written, home, monkeypatch):
    monkeypatch.delenv("WANDB_MODE", raising=False)
    begun = {}
    for why in ("WANDB_MODE is 'offline'", "no answer within 5 s"):
        run = written().start().end()
        run.dir.wandb.mkdir()
        export_state.write(run.dir, Export(state="exporting", why=why))
        begun[run.dir.run_id] = "offline" if why.startswith("WANDB_MODE") else None
    exporters = Exporters(home)
    exporters._find_unfinished()
    found = {run_id: child.environment.get("WANDB_MODE") for (run_id, _), child in exporters._children.items()}
    assert found == begun
