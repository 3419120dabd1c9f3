"""How a script ended, in words that say what to do next."""

from pathlib import Path

from cleanrl_worker.foreign import fence
from cleanrl_worker.foreign.plan import ScriptPlan
from mosaic.scripts.packages import how_to_install, missing_packages
from mosaic.scripts.script import Script


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
