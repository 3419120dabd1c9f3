"""CleanRL's own flags of a run, so that its command lines work with `mosaic train ppo` in the place of the script.

`--track` is `--track-wandb` here, and `--exp-name` is `--label`. All others (`--wandb-project-name`, `--wandb-entity`,
`--capture-video`, `--save-model`, `--upload-model`, `--hf-entity`) have the same names. A flag that the algorithm has
itself is its own.
"""

from collections.abc import Collection, Sequence

from mosaic.cli.reach import BadArguments

OURS = {"--track": "--track-wandb", "--no-track": "--no-track-wandb", "--exp-name": "--label"}


def translated(words: Sequence[str], own: Collection[str]) -> list[str]:
    """The words with our flags; `own` are the settings of the algorithm, by their names in Python."""
    return [_translated(word, words, own) for word in words]


def _translated(word: str, words: Sequence[str], own: Collection[str]) -> str:
    flag, equals, value = word.partition("=")
    theirs = flag.replace("_", "-")
    if theirs not in OURS or theirs[2:].removeprefix("no-").replace("-", "_") in own:
        return word
    if theirs == "--exp-name" and any(one.partition("=")[0] == "--label" for one in words):
        raise BadArguments("--exp-name and --label both name the run; give one of them")
    return OURS[theirs] + equals + value
