"""A trained policy as a folder for the Hugging Face Hub: model, config, script, replay, and a card with its results.

    <algo>.cleanrl_model    the policy file (docs/protocols/policy-file.md), as its run saved it
    config.json             algorithm, environment, seed, steps and settings
    <algo>.py               the algorithm, one file
    replay.mp4              an episode of the evaluation on the card; absent where the environment cannot be rendered
    README.md               the model card: metadata as YAML between two lines of dashes, then Markdown

Repository, title, tags, library and metric follow CleanRL's conventions, so that its repositories and ours are found
and read alike. Scalars of the YAML are written as JSON, which is YAML too and leaves nothing to quoting rules.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.errors import ConfigError, Problem
from mosaic.spec.files import policy_digest
from mosaic.spec.files.shared_files import write_atomically
from mosaic.spec.policy_facts import SUFFIX
from mosaic.statistics.intervals import Interval

REPLAY = "replay.mp4"
CARD = "README.md"
CONFIG = "config.json"
LONGEST_NAME = 96
_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)
_REPO = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Publication:
    """All that goes into the folder."""

    algo: str
    env_id: str
    seed: int
    global_step: int
    args: Mapping[str, Any]
    """Settings of the algorithm."""
    model: bytes
    script: str
    """Source of the algorithm; empty if it is not here."""
    replay: bytes
    """An mp4; empty if there is none."""
    summary: Mapping[str, Any]
    """Of the evaluation, as in `eval_summary.json`."""
    version: str
    """Of MOSAIC."""
    is_own: bool = False
    """The algorithm is a user's own, not one of MOSAIC's."""


def default_name(algo: str, env_id: str, seed: int) -> str:
    """CleanRL's name of a repository; `/` in an environment's id becomes a dash."""
    return f"{_UNSAFE.sub('-', env_id)}-{algo}-seed{seed}"


def repo_id(given: str, name: str) -> str:
    """`--repo` as the Hub takes it: USER/NAME, NAME alone for one's own, or USER/ for the default name."""
    repo = given + name if given.endswith("/") or not given else given
    if not _REPO.fullmatch(repo) or len(repo) > LONGEST_NAME or "--" in repo or ".." in repo or repo.endswith(".git"):
        message = (
            f"'{repo}' cannot be the name of a repository: letters, digits, '-', '_' and '.', at most"
            f" {LONGEST_NAME} characters, such as ada/{name}"
        )
        raise ConfigError([Problem("--repo", message)], what="mosaic publish")
    return repo


def write(folder: Path, publication: Publication) -> Sequence[str]:
    """The folder, new or empty; the names of its files. A damaged model is refused."""
    policy_digest.refuse_damaged(publication.model, what=f"the policy of {publication.algo} on {publication.env_id}")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ConfigError([Problem("--dry-run", f"{folder} is not empty; name a new folder")], what="mosaic publish")
    algo = publication.algo
    files: dict[str, bytes] = {
        f"{algo}{SUFFIX}": publication.model,
        CONFIG: (json.dumps(config_of(publication), indent=1) + "\n").encode(),
        f"{algo}.py": publication.script.encode(),
        REPLAY: publication.replay,
        CARD: card_of(publication).encode(),
    }
    written = {name: content for name, content in files.items() if content}
    for name, content in written.items():
        write_atomically(folder / name, content)
    return list(written)


def config_of(publication: Publication) -> dict[str, Any]:
    return {
        "algo": publication.algo,
        "exp_name": publication.algo,
        "env_id": publication.env_id,
        "seed": publication.seed,
        "global_step": publication.global_step,
        "args": dict(publication.args),
        "mosaic_version": publication.version,
    }


def card_of(publication: Publication) -> str:
    algo, env_id, summary = publication.algo, publication.env_id, publication.summary
    title = algo.upper() if len(algo) <= 4 else algo
    tags = [env_id, "deep-reinforcement-learning", "reinforcement-learning", "custom-implementation"]
    value = f"{float(summary['mean']):.2f} +/- {float(summary['std']):.2f}"
    metadata = [
        "tags:",
        *(f"- {_scalar(tag)}" for tag in tags),
        f"library_name: {_scalar('cleanrl')}",
        "model-index:",
        f"- name: {_scalar(title)}",
        "  results:",
        "  - task:",
        "      type: reinforcement-learning",
        "      name: reinforcement-learning",
        "    dataset:",
        f"      name: {_scalar(env_id)}",
        f"      type: {_scalar(env_id)}",
        "    metrics:",
        "    - type: mean_reward",
        f"      value: {_scalar(value)}",
        "      name: mean_reward",
        "      verified: false",
    ]
    return "\n".join(["---", *metadata, "---", "", *_text(publication, title), ""])


def _text(publication: Publication, title: str) -> list[str]:
    algo, env_id, summary = publication.algo, publication.env_id, publication.summary
    how = "likeliest actions" if summary.get("deterministic") else "actions sampled as in training"
    middle = Interval(*(float(summary[key]) for key in ("iqm", "iqm_low", "iqm_high")))
    lines = [
        f"# (CleanRL) **{title}** Agent Playing **{env_id}**",
        "",
        f"A policy that was trained for {publication.global_step:,} steps with seed {publication.seed} by the"
        f" single-file algorithm `{algo}.py` {'with' if publication.is_own else 'of'} MOSAIC {publication.version}."
        " The model file is safetensors: it holds"
        " weights, normalisers, spaces and settings, and opening it runs no code.",
        "",
        "## Results",
        "",
        f"{summary['episodes']} episodes from seed {summary['seed']} on, {how}:",
        "",
        "| return | |",
        "|---|---|",
        f"| mean ± std | {float(summary['mean']):.2f} ± {float(summary['std']):.2f} |",
        f"| IQM, 95 % interval | {middle.text(summary['episodes'], '.2f')} |",
        f"| median, min, max | {float(summary['median']):.2f}, {float(summary['min']):.2f},"
        f" {float(summary['max']):.2f} |",
        f"| mean episode length | {float(summary['mean_length']):.1f} |",
        "",
        "## Evaluate it",
        "",
        "Download this repository into a folder, then:",
        "",
        "```sh",
        f"mosaic evaluate FOLDER --episodes {summary['episodes']} --seed {summary['seed']}"
        + (" --deterministic" if summary.get("deterministic") else ""),
        "```",
        "",
        "## Train it",
        "",
        "```sh",
        f"{_command(publication)}{_flags(publication.args)}",
        "```",
        "",
        "## Settings",
        "",
        "```json",
        json.dumps(dict(publication.args), indent=1),
        "```",
    ]
    if publication.replay:
        lines += ["", f"`{REPLAY}` shows one of these episodes."]
    return lines


def _command(publication: Publication) -> str:
    if publication.is_own:
        return f"python -m cleanrl_worker.cli --algo ./{publication.algo}.py"
    return f"python -m cleanrl_worker.algorithms.{publication.algo}"


def _flags(args: Mapping[str, Any]) -> str:
    """The settings as the algorithm's own command takes them; what is not set is left out."""
    words: list[str] = []
    for name, value in args.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{'' if value else 'no-'}{flag}")
        elif value is not None:
            words.append(f"--{flag} {value}")
    return "".join(f" \\\n    {word}" for word in words)


def _scalar(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
