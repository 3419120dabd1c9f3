"""Keys that came with a submit: in memory until the worker has them, and taken out of what it printed."""

from collections.abc import Mapping, Sequence

HIDDEN = "[hidden]"


class Secrets:
    """Environment variables of runs that carry keys. A daemon that ends forgets them; nothing is ever written."""

    def __init__(self) -> None:
        self._by_run: dict[str, Mapping[str, str]] = {}

    def keep(self, run_id: str, variables: Mapping[str, str]) -> None:
        if variables:
            self._by_run[run_id] = dict(variables)

    def of(self, run_id: str) -> Mapping[str, str]:
        return self._by_run.get(run_id, {})

    def redacted(self, run_id: str, lines: Sequence[str]) -> tuple[str, ...]:
        return tuple(hide(line, self.of(run_id)) for line in lines)

    def forget(self, run_id: str) -> None:
        self._by_run.pop(run_id, None)


def hide(text: str, variables: Mapping[str, str]) -> str:
    for value in variables.values():
        text = text.replace(value, HIDDEN)
    return text
