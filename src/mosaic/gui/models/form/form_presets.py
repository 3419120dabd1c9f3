"""Presets of the form: those for what it trains, all others, and the ones that a window of 0.1.0 has kept."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from mosaic.config import JsonObject
from mosaic.errors import MosaicError
from mosaic.gui.models.form.json_paths import put
from mosaic.gui.models.form.last_run import read_document
from mosaic.gui.models.form.run_settings import UI
from mosaic.gui.models.form.train_form import TrainForm
from mosaic.spec.presets.preset_files import Listed, Presets
from mosaic.spec.presets.preset_of_config import document_of, preset_of
from mosaic.spec.presets.preset_use import UI as KEY
from mosaic.spec.presets.preset_use import as_ui
from mosaic.spec.run_dir import Home


class FormPresets:
    """What `mosaic presets` lists, for a form."""

    def __init__(self, home: Home, form: TrainForm) -> None:
        self._presets = Presets(home)
        self._form = form
        self._before = home.root / "gui" / "presets"
        """Run configs by name, where 0.1.0 kept them."""

    def listed(self) -> tuple[list[Listed], list[Listed], list[str]]:
        """Those for this algorithm and environment; the others; and what is wrong with files."""
        problems = self._take_over()
        every, unread = self._presets.all()
        fitting = [one for one in every if self._fits(one)]
        return fitting, [one for one in every if not self._fits(one)], [*problems, *unread]

    def save(self, name: str) -> None:
        """What the form says, apart from the label of a run and its notes."""
        algorithm = self._form.algorithm
        self._presets.save(preset_of(self._form.stored(), name, algorithm.schema if algorithm else None))

    def delete(self, one: Listed) -> None:
        self._presets.delete(one)

    def _fits(self, one: Listed) -> bool:
        return (one.preset.algo, one.preset.env_id) == (self._form.algo, self._form.env_id)

    def _take_over(self) -> list[str]:
        """Make presets of the files of 0.1.0, once; what is wrong with those that cannot be read, which stay."""
        problems: list[str] = []
        for path in _json_files(self._before):
            try:
                self._presets.save(preset_of(read_document(path), unquote(path.stem), None))
                path.unlink(missing_ok=True)
            except (MosaicError, OSError) as error:
                problems.append(f"{path.name}: {error}")
        return problems


def document_with(one: Listed) -> JsonObject:
    """A run config for the form, which names the preset."""
    document = document_of(one.preset)
    put(document, f"{UI}.{KEY}", as_ui(one.preset)[KEY])
    return document


def _json_files(folder: Path) -> Sequence[Path]:
    try:
        return sorted(folder.glob("*.json"))
    except OSError:
        return ()  # A folder that cannot be read holds nothing for this user.
