"""`replay:RUN/EPISODE` or `replay:FILE.jsonl`: the actions of a recorded episode, one after the other."""

from pathlib import Path

from mosaic.errors import ActorFailed, MosaicError, RecordingError
from mosaic.play.actor import Choice, Context, Outcome, View
from mosaic.play.json_values import action_from_json
from mosaic.spec import episode_file
from mosaic.spec.actors import ActorDescriptor
from mosaic.spec.episode_file import EpisodeFile
from mosaic.spec.run_dir import Home

DESCRIPTOR = ActorDescriptor(
    id="replay",
    label="Recording",
    description="The actions of a recorded episode, checked step by step against what was recorded.",
    argument="RUN/EPISODE",
)


class ReplayedActor:
    def __init__(self, recording: EpisodeFile, context: Context) -> None:
        self._space = context.arena.action_space
        self.recording = recording
        # A copy counts its own steps.
        apart = recording.head.order == "copies"
        self._steps = [step for step in recording.steps if not apart or step.seat == context.seat]

    def reset(self, seed: int) -> None:
        """The session begins with the recorded seed."""

    def select_action(self, view: View) -> Choice:
        if view.step >= len(self._steps):
            raise ActorFailed("the recording ends here")
        return Choice(action=action_from_json(self._steps[view.step].action, self._space))

    def observe(self, outcome: Outcome) -> None:
        """The session compares."""

    def close(self) -> None:
        """It holds nothing."""


def make(argument: str, context: Context) -> ReplayedActor:
    recording = find(argument, context.home)
    if recording.head.env_id != context.arena.env_id:
        raise RecordingError(f"'{argument}' was played in {recording.head.env_id}, not in {context.arena.env_id}")
    return ReplayedActor(recording, context)


def find(argument: str, home: Home) -> EpisodeFile:
    """The episode file itself, or the n-th of a run of this home."""
    path = Path(argument).expanduser()
    if not path.is_file():
        run_id, _, number = argument.partition("/")
        try:
            path = home.run(run_id).episode(int(number or 1))
        except (MosaicError, ValueError):
            raise RecordingError(f"'{argument}' is neither an episode file nor RUN/EPISODE") from None
    return episode_file.read(path)
