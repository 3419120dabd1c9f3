"""Keys that came with a submit: in memory while the run lives, and taken out of all that its worker prints."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from mosaic.scripts.script import is_script
from mosaic.spec.files.shared_files import write_atomically
from mosaic.spec.processes import language_model, secret_keys
from mosaic.spec.run_config import PlayExtras, TrainOptions, WorkerConfig
from mosaic.spec.run_dir import RunDir


def of_worker(config: WorkerConfig, known: Mapping[str, str]) -> dict[str, str]:
    """Of the variables that are known those which a worker needs: exporters, not workers, have the keys of trackers."""
    if is_script(config.algo):
        return secret_keys.chosen_for_scripts(known)
    if isinstance(config.extras, PlayExtras):
        # The user of an interactive session may put a language model on any seat.
        asks = config.extras.interactive or language_model.plays(config.extras.actors.values())
        return secret_keys.only(known, ("llm",) if asks else ())
    return {}


def of_dry_run(config: WorkerConfig, known: Mapping[str, str]) -> dict[str, str]:
    """As its worker, and the keys of a tracker whose server it asks whether it would answer."""
    tracks = isinstance(config.extras, TrainOptions) and config.extras.track_wandb
    return of_worker(config, known) | secret_keys.only(known, ("wandb",) if tracks else ())


class Secrets:
    """Environment variables of runs that carry keys. A daemon that ends forgets them; nothing is ever written."""

    def __init__(self) -> None:
        self._by_run: dict[str, Mapping[str, str]] = {}
        self._retired: dict[str, tuple[RunDir, Sequence[Path]]] = {}
        """Logs of ended runs that still hold a key, because the disk refused to be written."""

    def keep(self, run_id: str, variables: Mapping[str, str]) -> None:
        if variables:
            self._by_run[run_id] = dict(variables)

    def of(self, run_id: str) -> Mapping[str, str]:
        return self._by_run.get(run_id, {})

    def redacted(self, run_id: str, lines: Sequence[str]) -> tuple[str, ...]:
        return tuple(hide(line, self.of(run_id)) for line in lines)

    def retire(self, run_dir: RunDir, logs: Sequence[Path]) -> None:
        """The worker has ended: mask the keys in its logs, then forget them. Where that fails, `retry` does it."""
        if self.of(run_dir.run_id):
            self._retired[run_dir.run_id] = (run_dir, logs)
            self.retry()

    def retry(self) -> None:
        """Until then what is read of these logs is masked on its way, as it is while the run lives."""
        for run_id, (run_dir, logs) in list(self._retired.items()):
            with contextlib.suppress(OSError):
                for path in logs:
                    self._scrub(run_dir, path)
                self.forget(run_id)

    def _scrub(self, run_dir: RunDir, path: Path) -> None:
        if run_dir.look(path) is not None:
            with run_dir.open(path) as file:
                data = file.read()
            clean = masked(data, self.of(run_dir.run_id))
            if clean != data:
                write_atomically(path, clean)

    def forget(self, run_id: str) -> None:
        self._by_run.pop(run_id, None)
        self._retired.pop(run_id, None)


def hide(text: str, variables: Mapping[str, str]) -> str:
    for value in variables.values():
        text = text.replace(value, secret_keys.HIDDEN)
    return text


def masked(data: bytes, variables: Mapping[str, str]) -> bytes:
    """As long as before, so that offsets into a log stay what they are."""
    for value in variables.values():
        data = data.replace(value.encode(), b"*" * len(value.encode()))
    return data
