"""The digest of the sources changes with what a worker imports, and with nothing else."""

from pathlib import Path

import pytest

from mosaic.trainer.catalogue import sources_digest


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sdk").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "gui").mkdir()
    for name in ("one.py", "page.md", "sdk/two.py", "docs/notes.md", "gui/window.py", "data.json"):
        (tmp_path / name).write_text("a")
    monkeypatch.setattr(sources_digest, "_folders", lambda: (tmp_path,))
    return tmp_path


@pytest.mark.parametrize("name", ["one.py", "page.md", "sdk/two.py", "docs/notes.md"])
def test_a_source_and_a_page_change_it(package: Path, name: str) -> None:
    before = sources_digest.sources_digest()
    assert sources_digest.sources_digest() == before
    (package / name).write_text("another text")
    assert sources_digest.sources_digest() != before


@pytest.mark.parametrize("name", ["gui/window.py", "data.json"])
def test_what_is_in_no_worker_does_not(package: Path, name: str) -> None:
    before = sources_digest.sources_digest()
    (package / name).write_text("another text")
    assert sources_digest.sources_digest() == before


def test_a_new_file_and_one_that_is_gone_change_it(package: Path) -> None:
    found = {sources_digest.sources_digest()}
    (package / "sdk" / "three.py").write_text("a")
    found.add(sources_digest.sources_digest())
    (package / "one.py").unlink()
    found.add(sources_digest.sources_digest())
    assert len(found) == 3
