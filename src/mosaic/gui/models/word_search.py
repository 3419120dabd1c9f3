"""Whether a text holds every word that was typed, in any order."""


def holds_words(text: str, typed: str) -> bool:
    """True too where nothing was typed."""
    folded = text.casefold()
    return all(word in folded for word in typed.casefold().split())
