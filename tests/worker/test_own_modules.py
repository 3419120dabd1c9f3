"""Each algorithm of a user's has the modules beside it, whatever another folder has under the same names."""

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cleanrl_worker.sdk.command import own_algorithm
from mosaic.errors import ConfigError
from mosaic.scripts import own_modules
from mosaic.scripts.allowed_folders import Allowed
from mosaic.spec.run_dir import Home

EXAMPLE = (Path(__file__).parents[2] / "examples" / "random_search.py").read_text()


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two algorithms in two folders, a third beside the second."""
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(own_algorithm, "_loaded", {})
    for folder, names in (("p", ["my_p"]), ("q", ["my_q", "my_r"])):
        (tmp_path / folder / "parts").mkdir(parents=True)
        (tmp_path / folder / "nets.py").write_text(f"PLACE = {folder!r}\n")
        (tmp_path / folder / "parts" / "heads.py").write_text(f"PLACE = {folder!r}\n")
        for name in names:
            text = EXAMPLE.replace("\nimport ", "\nimport nets, parts.heads\nimport ", 1)
            (tmp_path / folder / f"{name}.py").write_text(
                f"{text}\ndef again():\n    import nets\n    return nets.PLACE\n"
            )
        Allowed(Home(tmp_path / "home")).add(tmp_path / folder)
    before, path = frozenset(sys.modules), list(sys.path)
    yield tmp_path
    own_modules.turn_to(None)
    assert sys.path == path
    for name in {"nets", "parts", "parts.heads"} & (set(sys.modules) - before):
        del sys.modules[name]


def test_two_folders_with_modules_of_one_name() -> None:
    for name, place in (("my_p", "p"), ("my_q", "q"), ("my_r", "q")):
        loaded = own_algorithm.of_name(name)
        assert loaded.module.nets.PLACE == loaded.module.parts.heads.PLACE == place
        assert sorted(loaded.source.texts) == sorted([f"{name}.py", "nets.py", "parts/heads.py"])
        assert place in loaded.source.texts["nets.py"]
    for name, place in (("my_p", "p"), ("my_q", "q")):
        assert own_algorithm.of_name(name).module.again() == place
        assert sys.modules[name] is own_algorithm.of_name(name).module
    own_modules.turn_to(None)
    assert not {"nets", "parts", "parts.heads", "my_p", "my_q", "my_r"} & set(sys.modules)


def test_a_file_that_is_run_by_python_keeps_what_it_had_imported_before(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folders / "p" / "my_p.py"
    file.write_text(file.read_text().replace("raise SystemExit(main(__file__))", "own.of_typed(Path(__file__))"))
    with monkeypatch.context() as patched:
        patched.syspath_prepend(str(file.parent))
        runpy.run_path(str(file), {"own": own_algorithm, "Path": Path}, run_name="__main__")
    assert sorted(own_algorithm.of_name("my_p").source.texts) == ["my_p.py", "nets.py", "parts/heads.py"]


def test_what_a_broken_one_has_imported_is_not_left_to_the_next(folders: Path) -> None:
    (folders / "p" / "my_p.py").write_text(f"{EXAMPLE}\nimport nets\nraise ValueError('no')\n")
    with pytest.raises(ConfigError, match="raises ValueError when it is imported: no"):
        own_algorithm.of_name("my_p")
    assert own_algorithm.of_name("my_q").module.nets.PLACE == "q"
