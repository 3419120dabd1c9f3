"""Names that a mistyped one may have meant, and the words that offer them."""

import difflib
from collections.abc import Iterable, Sequence

CUTOFF = 0.6
SLACK = 0.2
"""What is so much less like a word than the likest name is not offered beside it."""


def near_names(word: str, names: Iterable[str], *, most: int = 3) -> list[str]:
    """The likest first; capitals make no difference, and neither do - and _."""
    known = {_plain(name): name for name in names}
    wanted = _plain(word)
    alike = difflib.get_close_matches(wanted, known, n=most, cutoff=CUTOFF)
    alike = [name for name in alike if _likeness(wanted, name) >= _likeness(wanted, alike[0]) - SLACK]
    # Difflib thinks little of a short word in a long one: "lander" means LunarLander-v3.
    holding = [name for name in known if len(wanted) > 2 and wanted in name and name not in alike]
    return [known[name] for name in [*alike, *sorted(holding, key=len)][:most]]


def did_you_mean(word: str, names: Iterable[str], *, most: int = 3) -> str:
    """`did you mean ppo or pqn?`, or nothing where nothing is near."""
    near: Sequence[str] = near_names(word, names, most=most)
    return f"did you mean {' or '.join(near)}?" if near else ""


def no_such(word: str, names: Iterable[str]) -> str:
    """What to say of a word that is none of a few names: those near it, or all of them."""
    known = list(names)
    return did_you_mean(word, known, most=2) or f"there are {', '.join(known)}"


def _likeness(word: str, name: str) -> float:
    return difflib.SequenceMatcher(None, name, word).ratio()


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
