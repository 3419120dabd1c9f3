"""A daemon that listens on TCP: reached with --target and its token."""

from collections.abc import Generator
from pathlib import Path

import pytest

from mosaic.spec.run_dir import Home


@pytest.fixture
def target(mosaic) -> Generator[str]:
    """Where the daemon listens, for this test."""
    mosaic("daemon", "stop")
    assert mosaic("daemon", "start", "--listen", "127.0.0.1:0", "--no-warm").code == 0
    [health] = mosaic("daemon", "status", "--json").objects
    yield health["address"].split()[1]
    mosaic("daemon", "stop")
    assert mosaic("daemon", "start").code == 0


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_target_is_reached_with_its_token_only(mosaic, finished, target, tmp_path: Path, monkeypatch):
    assert finished in mosaic("runs", "--target", target, "--limit", "0").out
    assert mosaic("--target", target, "daemon", "status").code == 0
    monkeypatch.setenv("MOSAIC_TARGET", target)
    said = mosaic("export", finished, str(tmp_path / "run"))
    assert said.code == 0
    run_dir = Home.resolve().run(finished)
    assert {
        path.relative_to(tmp_path / "run").as_posix(): path.stat().st_size for path in files(tmp_path / "run")
    } == dict(run_dir.files())
    assert any(name.startswith("checkpoints/step-") for name, _ in run_dir.files())
    (tmp_path / "token").write_text("wrong")
    monkeypatch.setenv("MOSAIC_TOKEN_FILE", str(tmp_path / "token"))
    refused = mosaic("runs")
    assert refused.code == 2
    assert "token" in refused.err


def test_reindex_does_not_lose_the_flags_of_a_daemon(mosaic, target):
    said = mosaic("reindex")
    assert said.code == 2
    assert "mosaic daemon stop" in said.err


def test_an_address_beyond_loopback_is_refused_without_tls(mosaic, tmp_path, monkeypatch):
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))
    said = mosaic("daemon", "start", "--listen", "0.0.0.0:0")
    assert said.code == 6
    assert "loopback" in said.err
