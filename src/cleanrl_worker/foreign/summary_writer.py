"""SummaryWriter, of torch and of tensorboardX: its files lie in the run, and every scalar reaches the record."""

import os
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any

from cleanrl_worker.foreign.import_hooks import Hooks
from cleanrl_worker.foreign.script_record import ScriptRecord

MODULES = ("torch.utils.tensorboard.writer", "tensorboardX.writer")


class SummaryWriters:
    """All writers of a run."""

    def __init__(self, record: ScriptRecord, *, files: bool) -> None:
        self._record = record
        self._files = files
        """Whether TensorBoard files are wanted; the record gets the scalars in any case."""
        self._writers: weakref.WeakSet[Any] = weakref.WeakSet()

    def hook(self, hooks: Hooks) -> None:
        for name in MODULES:
            hooks.when_imported(name, self._change)

    def close(self) -> None:
        """Flush what the script left open."""
        for writer in list(self._writers):
            writer.close()

    def folder(self, asked: str | os.PathLike[str] | None, otherwise: str) -> str:
        """Where the files go: `CLEANRL_TENSORBOARD_DIR`, or what the script says as long as that is in the run."""
        override = os.environ.get("CLEANRL_TENSORBOARD_DIR")
        if override:
            return str(Path(override).absolute())
        path = Path(asked or otherwise).absolute()
        root = self._record.run_dir.root.resolve()
        return str(path if path.resolve().is_relative_to(root) else Path.cwd() / "runs" / path.name)

    def _change(self, module: ModuleType) -> None:
        writer: Any = module.SummaryWriter
        self._place(writer)
        self._mirror_scalar(writer)
        self._mirror_scalars(writer)
        if not self._files:
            _silence(writer)

    def _place(self, writer: Any) -> None:
        original, boards = writer.__init__, self

        def __init__(this: Any, logdir: Any = None, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            asked = kwargs.pop("log_dir", None) or kwargs.pop("logdir", None) or logdir
            folder = boards.folder(asked, "runs/tensorboard")
            this.log_dir = this.logdir = folder
            if boards._files:
                # Of a forked process too: its files are the script's own, the record is its parent's.
                original(this, folder, *args, **kwargs)
                boards._record.board(Path(folder))
                boards._writers.add(this)

        writer.__init__ = __init__

    def _mirror_scalar(self, writer: Any) -> None:
        original, record, files = writer.add_scalar, self._record, self._files

        def add_scalar(this: Any, tag: str, scalar_value: Any, global_step: Any = None, *args: Any, **kw: Any) -> None:
            value = scalar_value if type(scalar_value) is float else as_number(scalar_value)
            if value is not None:
                record.scalar(tag, value, None if global_step is None else int(global_step))
            if files:
                original(this, tag, scalar_value if value is None else value, global_step, *args, **kw)

        writer.add_scalar = add_scalar

    def _mirror_scalars(self, writer: Any) -> None:
        original, record, files = writer.add_scalars, self._record, self._files

        def add_scalars(this: Any, main_tag: str, values: dict[str, Any], global_step: Any = None, *args: Any) -> None:
            for name, given in values.items():
                value = as_number(given)
                if value is not None:
                    record.scalar(f"{main_tag}/{name}", value, None if global_step is None else int(global_step))
            if files:
                original(this, main_tag, values, global_step, *args)

        writer.add_scalars = add_scalars


def as_number(value: Any) -> float | None:
    """A float of anything that holds one number; None for anything else."""
    try:
        return float(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError, RuntimeError):
        return None


def _silence(writer: Any) -> None:
    """No files: everything else that a writer offers does nothing."""

    def nothing(*_: Any, **__: Any) -> None: ...

    for name in dir(writer):
        if name.startswith("add_") and name not in ("add_scalar", "add_scalars"):
            setattr(writer, name, nothing)
    writer.flush = writer.close = nothing
