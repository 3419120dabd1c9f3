"""Running the script: everything around it is put up, it runs as `__main__`, and its end is written down."""

import atexit
import gc
import importlib.util
import os
import sys
import threading
import traceback
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType, TracebackType

from cleanrl_worker.foreign import fence, one_number_arrays, script_patches
from cleanrl_worker.foreign.output_limit import OutputLimit, TooMuchOutput
from cleanrl_worker.foreign.script_plan import ScriptPlan, refuse_missing, rehearse, resolve
from cleanrl_worker.foreign.script_record import ScriptRecord
from cleanrl_worker.foreign.stop_signals import Stopping
from cleanrl_worker.sdk.command import worker_flags
from cleanrl_worker.sdk.command.carry_out import publishing, write_start
from cleanrl_worker.sdk.command.worker_flags import CommandLine
from cleanrl_worker.sdk.record import start_exporters
from cleanrl_worker.sdk.record.log_copy import logged_to
from mosaic.errors import HomeUnusable, MosaicError
from mosaic.scripts.import_path import search_path
from mosaic.scripts.missing_packages import how_to_install, missing_packages
from mosaic.scripts.script import Script
from mosaic.spec.processes import process_identity
from mosaic.spec.processes.life_lock import own_life

WORK = "work"
"""The script's working directory in the run directory, so that nothing it writes meets the run's own files."""
WRITABLE = "MOSAIC_SCRIPT_WRITES"
"""Variable of further folders that scripts may write to."""
FAILED = 1


def run(line: CommandLine) -> int:
    """The exit code."""
    try:
        plan = resolve(line)
        rehearsal = rehearse(plan)
        if plan.flags.dry_run:
            rehearsal.show(emit_summary=plan.flags.emit_summary)
            refuse_missing(plan)
            return 0
        plan.run_dir.create()
        with logged_to(plan.run_dir):
            sys.stdout.write(f"run directory: {plan.run_dir.root}\n")
            sys.stdout.flush()
            return _carry_out(plan)
    except MosaicError as error:
        return worker_flags.reported(error)
    except OSError as error:
        return worker_flags.reported(HomeUnusable(f"{error}; free some disk and start it again"))


def _carry_out(plan: ScriptPlan) -> int:
    run_dir = plan.run_dir
    with own_life(run_dir), ExitStack() as stack:
        write_start(run_dir, plan.run_config)
        record = ScriptRecord(plan)
        process_identity.write_self(run_dir.worker, attempt=record.attempt)
        start_exporters.start_exporters(run_dir, plan.options)
        stopping = Stopping()
        stack.enter_context(stopping.listening())
        stack.enter_context(publishing(plan.flags, run_dir, superseded=stopping.ask))
        return _run(plan, record, stopping)


def _run(plan: ScriptPlan, record: ScriptRecord, stopping: Stopping) -> int:
    """The script from its first line to its last; the exit code."""
    pid = os.getpid()
    record.begin()
    output = OutputLimit(plan.run_dir, lambda error: _give_up(record, error))
    failure: BaseException | None = None
    ours = set(threading.enumerate())
    patches = script_patches.ScriptPatches(plan, record, stopping)
    try:
        folder = _work_folder(plan)
        patches.put_up()
        fence.put_up(folder, _own_choice())
        gc.freeze()  # what is ours need not be looked through whenever the script leaves garbage
        _execute(plan, folder)
        _wait_for_threads(ours)
    except SystemExit as end:
        failure = None if end.code in (None, 0) else ScriptExited(end.code)
        if failure is not None and isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    except KeyboardInterrupt as interrupt:
        failure = None if stopping.asked else interrupt
    except BaseException as error:  # A border: the script may raise anything, which belongs into the run's log.
        failure = error
        sys.stderr.write(
            "".join(traceback.format_exception(type(error), error, _own_frames(plan, error.__traceback__)))
        )
    if os.getpid() != pid:
        # A process that the script forked and that ran to the end: the record is its parent's.
        os._exit(FAILED if failure else 0)
    stopping.ended = True
    output.close()
    try:
        patches.take_down()
    except Exception as error:  # A border: a writer of the script that cannot be closed must not cost the run's end.
        record.warn(f"what the script left open could not be closed: {error!r}")
    # What the script registered, because a forked worker ends without the interpreter's own end.
    atexit._run_exitfuncs()  # type: ignore[attr-defined]
    sys.stdout.flush()
    record.finish(failure, stopped=stopping.asked and failure is None, message=explained(failure, plan))
    return 0 if failure is None else FAILED


def _give_up(record: ScriptRecord, error: TooMuchOutput) -> None:
    """From another thread, whatever the script is doing."""
    try:
        record.finish(error, stopped=False)
    finally:
        os._exit(FAILED)


def _own_choice() -> list[Path]:
    """Where the user, not the script, wants files."""
    board = os.environ.get("CLEANRL_TENSORBOARD_DIR")
    if board:
        Path(board).mkdir(parents=True, exist_ok=True)
    chosen = os.environ.get(WRITABLE, "").split(os.pathsep)
    return [Path(folder) for folder in (board, *chosen) if folder]


def _work_folder(plan: ScriptPlan) -> Path:
    folder = plan.run_dir.root / WORK
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _execute(plan: ScriptPlan, folder: Path) -> None:
    path = plan.script.path
    first, *behind = search_path(path, plan.module)
    # The worker's own first entry ('' of `python -m`, or nothing) gives way to the script's.
    sys.path[:] = [first, *(entry for entry in sys.path if entry not in ("", str(plan.run_dir.root))), *behind]
    # The processes that it starts find the same beside them, although their path is safe
    # (mosaic.spec.processes.python_child).
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (first, os.environ.get("PYTHONPATH", ""), *behind)))
    sys.argv = [str(path), *plan.words]
    # Nothing is written beside the script, not even compiled modules.
    sys.dont_write_bytecode = True
    os.chdir(folder)
    main_module = ModuleType("__main__")
    main_module.__file__ = str(path)
    if plan.module:
        # Imports the package around it, as `python -m` does.
        spec = importlib.util.find_spec(plan.module)
        main_module.__spec__ = spec
        main_module.__package__ = plan.module.rpartition(".")[0]
    main_module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main_module
    main_module.__dict__[one_number_arrays.STORE] = one_number_arrays.store
    exec(one_number_arrays.compiled(path.read_bytes(), str(path)), main_module.__dict__)


def _wait_for_threads(ours: set[threading.Thread]) -> None:
    """For those that the script began, as the interpreter does at its end."""
    for thread in set(threading.enumerate()) - ours:
        if not thread.daemon:
            thread.join()


def _own_frames(plan: ScriptPlan, trace: TracebackType | None) -> TracebackType | None:
    """Without ours, which stand before the script's; all of them if the script was not reached."""
    found = trace
    while found is not None and found.tb_frame.f_code.co_filename != str(plan.script.path):
        found = found.tb_next
    return found or trace


class ScriptExited(Exception):
    """sys.exit() with something else than 0."""

    def __init__(self, code: object) -> None:
        super().__init__(f"the script ended itself with exit code {code}" if isinstance(code, int) else str(code))


def explained(failure: BaseException | None, plan: ScriptPlan) -> str:
    if failure is None:
        return ""
    place = _place(failure, plan.script)
    if isinstance(failure, PermissionError):
        refused = fence.explained(failure, plan.run_dir.root)
        if refused is not None:
            return f"{refused}{place}"
    if isinstance(failure, ModuleNotFoundError) and failure.name:
        return f"{failure}{place}; {_how_to_get(failure.name, plan)}"
    if isinstance(failure, ImportError) and "relative import" in str(failure) and not plan.module:
        return f"{failure}{place}; the script is a part of a package: mosaic train --module {_module_of(plan.script)}"
    text = str(failure) or repr(failure)
    return f"{text}{place}"


def _place(failure: BaseException, script: Script) -> str:
    line = None
    trace = failure.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(script.path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return "" if line is None else f" ({script.name}, line {line})"


def _how_to_get(package: str, plan: ScriptPlan) -> str:
    top = package.partition(".")[0]
    if top == "cleanrl_utils":
        return "it is part of CleanRL's checkout: run the script from there"
    missing = missing_packages(plan.script.path, plan.module)
    if top not in missing:
        missing.insert(0, top)
    others = f" {', '.join(name for name in missing if name != top)} is missing too;" if len(missing) > 1 else ""
    return f"{others} install beside MOSAIC: {how_to_install(missing)}".strip()


def _module_of(script: Script) -> str:
    """Its name from the folder that holds its package."""
    parts = [script.stem]
    folder: Path = script.path.parent
    while (folder / "__init__.py").exists() or len(parts) == 1:
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts)
