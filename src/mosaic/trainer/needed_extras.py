"""What a run needs that is not installed here: refused at its submit, with the line that installs it."""

from collections.abc import Callable
from pathlib import Path

from mosaic.scripts.script import is_script
from mosaic.spec import extras
from mosaic.spec.actors import split
from mosaic.spec.run_config import PlayExtras, PolicyEvalExtras, TrainExtras, TrainRunConfig


def refuse_missing(document: TrainRunConfig, *, sees_pixels: Callable[[str], bool]) -> None:
    """MissingExtra for the first extra that is missing. A script is looked at elsewhere: it chooses its environment."""
    worker = document.metadata.worker.config
    options = worker.extras
    if not is_script(worker.algo) and (needed := extras.of_environment(worker.env_id)) is not None:
        needed.require(f"'{worker.env_id}'")
    if isinstance(options, TrainExtras):
        _of_training(document, options, sees_pixels)
    elif isinstance(options, PolicyEvalExtras):
        if options.eval_trust and Path(options.policy_path).suffix == ".zip":
            extras.SB3.require("a Stable-Baselines3 zip")
    else:
        _of_play(options)


def _of_training(document: TrainRunConfig, options: TrainExtras, sees_pixels: Callable[[str], bool]) -> None:
    worker = document.metadata.worker.config
    if options.env_backend == "envpool":
        extras.ENVPOOL.require("the envpool backend")
    if not is_script(worker.algo) and sees_pixels(worker.algo):
        extras.PICTURES.require(f"{worker.algo}, which makes pictures 84×84,")
    for tracker, extra in extras.TRACKERS.items():
        if getattr(options, f"track_{tracker}") or (tracker == "wandb" and document.artifacts.wandb.enabled):
            extra.require(f"--track-{tracker}")
    if is_script(worker.algo) and options.algo_params.get("track") is True:
        extras.TRACKERS["wandb"].require("the script's --track")


def _of_play(options: PlayExtras) -> None:
    for actor in options.actors.values():
        name = split(actor)[0]
        if name in extras.ACTORS:
            extras.ACTORS[name].require(f"the actor '{name}'")
