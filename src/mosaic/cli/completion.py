"""`mosaic completion bash|zsh|fish`: a script that asks this command what could come next."""

from collections.abc import Sequence
from typing import Any

from mosaic.cli import VERBS
from mosaic.cli.daemon.connection import BadArguments, look
from mosaic.errors import MosaicError

WORDS = "words"
"""The verb behind `completion` that the scripts call: prints what could stand for the last word."""
NEWEST_RUNS = 50
TAKES_NO_RUN = ("demo", "train", "runs", "envs", "gui", "import", "reindex", "doctor", "version")

SCRIPTS = {
    "bash": """# eval "$(mosaic completion bash)", or put this into ~/.local/share/bash-completion/completions/mosaic
_mosaic() {
    local IFS=$'\\n'
    COMPREPLY=($(mosaic completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    if [ ${#COMPREPLY[@]} -eq 0 ]; then COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")); fi
}
complete -o filenames -F _mosaic mosaic
""",
    "zsh": """#compdef mosaic
# eval "$(mosaic completion zsh)", or put this as _mosaic into a folder of $fpath
_mosaic() {
    local -a found
    found=("${(@f)$(mosaic completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[*]}" ]]; then compadd -- $found; else _files; fi
}
compdef _mosaic mosaic
""",
    "fish": """# mosaic completion fish > ~/.config/fish/completions/mosaic.fish
complete -c mosaic -f -a '(mosaic completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
""",
}


def main(argv: Sequence[str]) -> int:
    if argv and argv[0] == WORDS:
        print("\n".join(candidates([word for word in argv[1:] if word != "--"] or [""])))
        return 0
    if len(argv) != 1 or argv[0] not in SCRIPTS:
        if argv and argv[0] in ("-h", "--help"):
            print(f"usage: mosaic completion {'|'.join(SCRIPTS)}\n\nPrint a script; its head says where to put it.")
            return 0
        raise BadArguments(f"mosaic completion: which shell? One of {', '.join(SCRIPTS)}")
    print(SCRIPTS[argv[0]], end="")
    return 0


def candidates(words: Sequence[str]) -> list[str]:
    """What could stand for the last of these words; nothing rather than an error."""
    *before, last = words
    try:
        return [word for word in _choices(before, last) if word.startswith(last)]
    except MosaicError:
        return []


def _choices(before: Sequence[str], last: str) -> Sequence[str]:
    if not before:
        return list(VERBS)
    verb = before[0]
    if verb == "daemon":
        return ("start", "stop", "status", "logs", "run") if len(before) == 1 else ()
    if verb == "wandb" and len(before) == 1:
        return ("status", "sync", "probe")
    if verb == "alerts":
        return ("list", "add", "remove", "set", "test") if len(before) == 1 else ()
    if verb == "completion":
        return list(SCRIPTS)
    if verb == "train":
        return _train(before, last)
    if last.startswith("-"):
        return ("--json", "--help") if verb != "logs" else ("--follow", "--stderr", "--tail", "--help")
    if verb == "algos":
        return _algorithms() if len(before) == 1 else ()
    return ["@last", *_run_ids(last)] if verb in VERBS and verb not in TAKES_NO_RUN else ()


def _train(before: Sequence[str], last: str) -> Sequence[str]:
    if len(before) == 1:
        return _algorithms()
    if before[-1] == "--env-id":
        with look() as client:
            return [info.env_id for family in client.environments() for info in family.environments]
    return _flags(before[1]) if last.startswith("-") else ()


def _flags(algo: str) -> Sequence[str]:
    from dataclasses import fields

    from mosaic.cli.train.train import RunFlags
    from mosaic.config import flag_name

    with look() as client:
        known = client.algorithms()
    settings: Any = known[algo].schema["properties"] if algo in known else {}
    return [flag_name(name) for name in [*settings, *(field.name for field in fields(RunFlags))]]


def _algorithms() -> Sequence[str]:
    with look() as client:
        return list(client.algorithms())


def _run_ids(beginning: str) -> Sequence[str]:
    with look() as client:
        return [run.run_id for run in client.list(text=beginning, limit=NEWEST_RUNS)]
