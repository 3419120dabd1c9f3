"""How a script ended, in words that say what to do next."""

from cleanrl_worker.foreign import fence
from cleanrl_worker.foreign.plan import ScriptPlan
from mosaic.installation import package_line
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
        return f"{failure}{place}; {_how_to_get(failure.name)}"
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


def _how_to_get(package: str) -> str:
    top = package.partition(".")[0]
    if top == "cleanrl_utils":
        return "it is part of CleanRL's checkout: run the script from there"
    return f"install it beside MOSAIC: {package_line(top)}"
