"""Weights & Biases beside a run: the daemon starts its exporter, a stand-alone run starts one itself."""

import importlib.util
import os
import sys

from mosaic.errors import MissingExtra, MosaicError
from mosaic.spec.life_lock import INHERITED
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.run_dir import RunDir


def start_exporter(run_dir: RunDir) -> None:
    """A process of its own that follows this run; whatever happens to it, the training goes on."""
    if os.environ.get(INHERITED):
        return
    from mosaic.track.start import start

    try:
        if importlib.util.find_spec("wandb") is None:
            raise MissingExtra("the export to Weights & Biases", "wandb")
        # Nobody waits for it: it ends some time after this process, and Popen would warn about that.
        start(run_dir, os.environ).returncode = 0
    except (OSError, MosaicError) as error:
        sys.stderr.write(f"warning: {error}; the training goes on without it\n")


def outlook(options: TrainOptions) -> str:
    """For a dry run: what an export would meet."""
    if not options.track_wandb:
        return "off"
    if importlib.util.find_spec("wandb") is None:
        return str(MissingExtra("the export", "wandb"))
    from mosaic.track import export, network

    try:
        chosen = export.choose(network.network_of(options))
    except MosaicError as error:
        return str(error)
    return "online" if chosen.online else f"offline: {chosen.why}"
