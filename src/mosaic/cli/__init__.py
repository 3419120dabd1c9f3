"""The `mosaic` command: a file per verb, in rooms; each returns an exit code (docs/cli.md). Nothing else prints."""

import contextvars
import importlib
import os
import sys
import traceback
from collections.abc import Mapping, Sequence

from mosaic.cli.daemon import connection
from mosaic.cli.terminal.flag_names import as_flags
from mosaic.cli.terminal.plain_output import plain_output
from mosaic.errors import ConfigError, MosaicError
from mosaic.near_names import near_names
from mosaic.spec.environment_settings import PREFIX as SETTING

DAMAGED = 7
"""Something that was read is not what was written."""
INTERRUPTED = 130
PIPE_CLOSED = 141
BUG = 1

VERBS: Mapping[str, tuple[str, str]] = {
    "demo": ("train.demo", "train PPO on CartPole until it is solved, then evaluate the policy"),
    "train": ("train.train", "train an algorithm: submit a run and follow it"),
    "sweep": ("sweeps.sweep", "find good settings: try many, confirm the best with fresh seeds"),
    "sweeps": ("sweeps.sweeps_list", "list sweeps"),
    "runs": ("runs.runs", "list runs"),
    "show": ("runs.show", "everything about a run"),
    "diff": ("runs.diff", "runs side by side: settings, environment, code, versions, results"),
    "follow": ("runs.run_verbs:follow", "live progress of runs"),
    "watch": ("live.watch", "a run's environments in the terminal, live"),
    "frame": ("live.frame", "save one picture of a run's environments"),
    "clip": ("live.clip", "film a run's environments"),
    "logs": ("runs.logs", "what a run printed"),
    "metrics": ("runs.metrics", "the numbers that a run logged"),
    "cancel": ("runs.run_verbs:cancel", "end runs; each saves a checkpoint first"),
    "pause": ("runs.run_verbs:pause", "pause runs"),
    "continue": ("runs.run_verbs:go_on", "continue paused runs"),
    "resume": ("runs.run_verbs:resume", "resume ended runs from a checkpoint"),
    "delete": ("runs.run_verbs:delete", "remove ended runs and their files"),
    "label": ("runs.run_verbs:label", "change the label or the notes of a run"),
    "tag": ("runs.run_verbs:tag", "put tags on runs, or take them off"),
    "pin": ("runs.run_verbs:pin", "keep runs at the top of lists"),
    "views": ("runs.views", "saved views: filters, columns, charts and selections under a name"),
    "export": ("runs.export", "copy runs into a zip file or a folder, or show them on a page"),
    "policies": ("evaluation.policies", "list the policies that runs have saved"),
    "evaluate": ("evaluation.evaluate", "play episodes with trained policies and print what they score"),
    "stats": ("statistics.stats", "statistics of groups of runs: scores, intervals, comparisons, tables and figures"),
    "export-policy": ("evaluation.export_policy", "a policy as ONNX or plain torch, for use without MOSAIC"),
    "publish": ("evaluation.publish", "publish a run's policy on the Hugging Face Hub"),
    "play": ("play.play", "let a person, a policy or another actor play, and record it"),
    "replay": ("play.replay", "replay a recorded episode and check that it is the same, or film it"),
    "match": ("play.match", "games between two actors, seats alternated: who wins how often"),
    "compare": ("play.compare", "run a script of actors, environments and seeds, and compare what they score"),
    "episodes": ("play.episodes", "list recorded episodes"),
    "export-minari": ("play.export_minari", "make a Minari dataset of recorded episodes"),
    "actors": ("play.actors", "list the actors that can play"),
    "wandb": ("tracking.wandb", "exports to Weights & Biases: their state, upload, probe of the server"),
    "track": ("tracking.track", "exports to all trackers: their state, or a further one to Trackio or MLflow"),
    "alerts": ("tracking.alerts", "who is told when a run fails, collapses, makes no progress or ends; what was told"),
    "scripts": ("train.scripts", "folders whose scripts may be trained, and the scripts in them"),
    "tensorboard": ("tracking.tensorboard", "TensorBoard on any selection of runs"),
    "import": ("runs.import_runs", "import runs of other homes, CleanRL, Stable-Baselines3 and Weights & Biases"),
    "algos": ("train.algos", "list algorithms, read the page of one, add your own"),
    "presets": ("train.presets", "settings under a name: list, show, save your own, compare with the defaults"),
    "envs": ("train.envs", "list environments"),
    "gui": ("daemon.gui", "open the window"),
    "web": ("daemon.web", "open the studio in a browser, also from another machine"),
    "mcp": ("daemon.mcp", "answer an assistant by the Model Context Protocol"),
    "daemon": ("daemon.daemon", "start, stop and look at the trainer daemon"),
    "engines": ("daemon.engines", "what starts workers: this machine or others, what each found and what it lacks"),
    "verify": ("runs.verify", "check checkpoints and policies for damage"),
    "reindex": ("runs.reindex", "rebuild the list of runs from their directories"),
    "doctor": ("daemon.doctor", "check this installation"),
    "completion": ("completion", "shell completion for bash, zsh or fish"),
    "version": ("version", "print the version"),
}
"""Each verb, its module of this package with `main(argv) -> int` (or another function, named), and what it does."""


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    # In a context of its own: which daemon was asked for holds for this command and not for the next one.
    with plain_output():
        return contextvars.copy_context().run(_ended, words)


def _ended(words: list[str]) -> int:
    """The exit code, whatever happened."""
    try:
        code = _run(words)
        # Here rather than at the interpreter's end, where a closed pipe would leave a traceback.
        sys.stdout.flush()
        return code
    except MosaicError as error:
        # Indented: a quoted line in a message must not look like a message of ours.
        print(f"error: {_sentence(error)}".replace("\n", "\n  "), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt as interrupted:
        print(f"\n{interrupted}".rstrip(), file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`mosaic runs | head`): not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception:
        # A border: what the interpreter would print of a bug at its end would not be made plain.
        traceback.print_exc()
        return BUG


def _sentence(error: MosaicError) -> str:
    """A problem with a command line ends with where its flags are explained."""
    if not isinstance(error, ConfigError) or not error.what.startswith("mosaic "):
        return as_flags(error.sentence)
    end = "\n" if len(error.problems) > 1 else " " if error.sentence.endswith("?") else "; "
    if all(problem.path.startswith(SETTING) for problem in error.problems):
        return f"{error.sentence}{end}'mosaic envs ENV' shows the settings of an environment"
    return f"{error.sentence}{end}'{error.what} --help' shows the flags"


def _run(words: list[str]) -> int:
    words = connection.take_global_options(words)
    if not words or words[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0
    verb, *rest = ("version",) if words[0] in ("-V", "--version") else words
    if verb not in VERBS:
        near = near_names(verb, VERBS, most=2)
        meant = " or ".join(f"'mosaic {each}'" for each in near)
        advice = f"did you mean {meant}?" if near else "'mosaic --help' lists the verbs"
        raise connection.BadArguments(f"'mosaic {verb}' is not a command; {advice}")
    module, _, function = VERBS[verb][0].partition(":")
    return getattr(importlib.import_module(f"mosaic.cli.{module}"), function or "main")(rest)


def _usage() -> str:
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {verb:<{width}}  {text}" for verb, (_, text) in VERBS.items())
    return f"""usage: mosaic [--target HOST:PORT] [--certificate FILE] [--no-start] VERB …

{verbs}

RUN is an id, its beginning or end, a label, @last for the newest that the verb is about, @last-1 for the one before it.
Numbers are written 100000, 1e5, 300k or 2M.
'mosaic VERB --help' shows the flags of a verb; --json gives one JSON object a line.
The daemon is that of MOSAIC_HOME, started when needed, or the one at --target (or MOSAIC_TARGET)."""
