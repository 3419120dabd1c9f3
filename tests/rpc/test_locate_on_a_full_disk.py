"""A client finds its daemon, and starts one, though no temporary file can be made anywhere."""

import tempfile

import pytest

from mosaic.rpc.locate import DaemonUnavailable, ensure_daemon
from mosaic.spec.files.shared_files import scratch_file
from mosaic.spec.run_dir import Home


def test_a_scratch_file_needs_no_disk(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with scratch_file() as file:
        file.write(b"said")
        file.seek(0)
        assert file.read() == b"said"


def test_the_reason_of_a_daemon_that_cannot_start_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    home = Home(tmp_path)
    home.create()
    with pytest.raises(DaemonUnavailable, match=r"(?s)the daemon ended at once: .*--cpus"):
        ensure_daemon(home, flags=["--cpus", "none"])
