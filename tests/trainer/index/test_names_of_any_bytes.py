"""A file whose name is not UTF-8 does no harm to the algorithms beside it."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from mosaic.scripts.allowed_folders import Allowed
from mosaic.spec.run_dir import Home
from mosaic.trainer.catalogue.own_algorithm_documents import OwnAlgorithmDocuments

EXAMPLE = Path(__file__).parents[3] / "examples" / "random_search.py"


def described(module: str, words: Sequence[str] = (), *, timeout_s: float | None = None) -> bytes:
    return json.dumps({"problem": "", "algorithm": {"name": words[-1]}, "file": ""}).encode()


def test_the_others_are_described(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"mine\xff")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("the names of this file system are UTF-8")
    shutil.copy(EXAMPLE, folder)
    (folder / os.fsdecode(b"caf\xe9.py")).write_bytes(EXAMPLE.read_bytes())
    Allowed(Home(tmp_path / "home")).add(folder)
    documents = OwnAlgorithmDocuments(Home(tmp_path / "home"), warm_output_of=described)
    documents.refresh()
    [found] = documents.document()["algorithms"]
    assert found["name"] == "random_search"
    [(one, problem)] = documents.broken()
    for text in (found["place"], one.name, one.place, problem):
        text.encode()
    assert "cannot be the name of an algorithm" in problem
