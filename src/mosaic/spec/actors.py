"""An actor as the lists of actors show it: its name, what it needs, and where it can act."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from mosaic.spec.catalogue.importable_packages import are_importable

BY_SEAT = "by seat"
"""The kind of action of an environment for several, as lists say it: it depends on the seat."""


@dataclass(frozen=True, kw_only=True)
class ActorDescriptor:
    """One kind of actor. `random`, or with an argument `policy:01K9…`, is how a config names one."""

    id: str
    """Name, before the colon."""
    label: str
    """Its name for the user."""
    description: str
    """One sentence."""
    argument: str = ""
    """What follows the colon, as text for the user; empty if nothing does."""
    actions: tuple[str, ...] = ()
    """Kinds of action that it can choose: discrete, continuous, multi_discrete, composite; empty is all."""
    observations: tuple[str, ...] = ()
    """Kinds of observation that it can read: discrete, vector, pixels, composite; empty is all."""
    families: tuple[str, ...] = ()
    """Environment families that it knows; empty is all."""
    extra: str = ""
    """Extra of mosaic-rl that it needs."""
    modules: tuple[str, ...] = ()
    """What that extra brings and it imports."""
    installed: bool = True
    """Whether these are there; found out when it is made."""
    key: str = ""
    """Environment variable that holds the secret it needs, if it needs one."""

    def __post_init__(self) -> None:
        if self.installed and not are_importable(self.modules):
            object.__setattr__(self, "installed", False)

    def misfit(self, *, action: str, observation: str = "", family: str = "") -> str:
        """Why it cannot act there; empty if it can. Kinds that are not known are taken to fit."""
        if not self.installed:
            from mosaic.installation import install_line

            return (
                f"needs the extra '{self.extra}': {install_line(self.extra)}" if self.extra else "cannot be used here"
            )
        for name, given, known in (
            ("actions", action, self.actions),
            ("observations", observation, self.observations),
            ("environments", family, self.families),
        ):
            if given and given != BY_SEAT and known and given not in known:
                return f"{self.label} knows {' and '.join(known)} {name}, not {given}"
        return ""

    def argument_problem(self, argument: str) -> str:
        """What is wrong with what follows the colon; empty if nothing is."""
        if self.argument and not argument and not self.argument.startswith("["):
            return f"'{self.id}' needs to know which: write {self.id}:{self.argument}"
        if argument and not self.argument:
            return f"'{self.id}' takes nothing after a colon, '{argument}' was given"
        return ""


def no_such(name: str, names: Sequence[str]) -> str:
    """What to say of an actor that does not exist."""
    near = difflib.get_close_matches(name, names, n=1)
    advice = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(names)}"
    return f"'{name}' is not an actor; {advice}"


def split(word: str) -> tuple[str, str]:
    """`policy:01K9…` as ("policy", "01K9…"); a plain id has no argument."""
    name, _, argument = word.partition(":")
    return name, argument
