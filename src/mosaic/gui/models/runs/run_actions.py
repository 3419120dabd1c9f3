"""What can be done with runs: to which states it fits, what is asked first, and the daemon's call."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from mosaic.errors import MosaicError
from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of
from mosaic.rpc.client import Client
from mosaic.rpc.run_operations import RUN_VERBS, Ask, RunVerb, each
from mosaic.spec.run_record import PINNED, RunRecord, is_pinned
from mosaic.spec.states import RunState


@dataclass(frozen=True)
class Action:
    """One thing that a person can do with the selected runs."""

    title: str
    icon: str
    verb: RunVerb
    """Runs in states that it does not fit are left out."""
    done: str
    """What has been asked for, of one run, in the past tense."""
    keys: str = ""
    question: Callable[[Sequence[RunRecord]], str] | None = None
    """Asked before it is done: what will be kept and what will be lost."""
    answers: tuple[str, str] = ("", "")
    """To do it and not to: each says what it does."""
    also: str = ""
    """Other words by which it is found."""

    @property
    def fits(self) -> str:
        """Runs that it can be done with, in words."""
        return f"only a run that is {_either(sorted(self.verb.states, key=list(RunState).index))}"

    def answers_for(self, runs: Sequence[RunRecord]) -> tuple[str, str]:
        """For one run or for several, as they are now."""
        yes, no = self.answers
        if len(states := {run.state for run in runs}) == 1:
            no = no.replace("running", states.pop().value)
        if len(runs) == 1:
            return yes, no
        return yes.replace(" run", f" {len(runs)} runs"), "Keep them" if no == "Keep run" else no


def _either(states: Sequence[RunState]) -> str:
    *most, last = [state.value for state in states]
    return f"{', '.join(most)} or {last}" if most else last


def _cancel_question(runs: Sequence[RunRecord]) -> str:
    kept = "It saves a checkpoint and its policy first" if len(runs) == 1 else "Each saves a checkpoint and its policy"
    return (
        f"End {_names(runs)}?\n\n{kept}; curves, logs, videos and checkpoints are kept, and the run can be resumed"
        " exactly where it ended."
    )


def _delete_question(runs: Sequence[RunRecord]) -> str:
    return (
        f"Delete {_names(runs)}?\n\nThe whole directory goes: curves, logs, videos, checkpoints and policies."
        " This cannot be undone."
    )


def _names(runs: Sequence[RunRecord]) -> str:
    return f"“{name_of(runs[0])}”" if len(runs) == 1 else f"these {len(runs)} runs"


def _moved(places: int) -> RunVerb:
    return RunVerb(
        frozenset({RunState.QUEUED}),
        lambda client, run: client.set_label(run.run_id, priority=run.priority + places),
    )


ACTIONS: Sequence[Action] = (
    Action("Pause", "pause", RUN_VERBS["pause"], "paused at its next step", keys="Ctrl+P"),
    Action("Continue", "play", RUN_VERBS["continue"], "goes on", keys="Ctrl+Shift+P"),
    Action(
        "End run…",
        "square",
        RUN_VERBS["cancel"],
        "ends",
        keys="Ctrl+.",
        question=_cancel_question,
        answers=("End run", "Keep running"),
        also="cancel stop",
    ),
    Action("Resume from the newest checkpoint", "rotate-ccw", RUN_VERBS["resume"], "resumed", keys="Ctrl+R"),
    Action("Start earlier in the queue", "chevrons-up", _moved(1), "moved up"),
    Action("Start later in the queue", "chevrons-down", _moved(-1), "moved down"),
    Action(
        "Delete…",
        "trash-2",
        RUN_VERBS["delete"],
        "deleted",
        keys="Del",
        question=_delete_question,
        answers=("Delete run", "Keep run"),
        also="remove",
    ),
)


class RunActions(QObject):
    """Does things to runs and says how it went."""

    changed = Signal()
    """What fits may have changed."""

    def __init__(self, studio: Studio, chosen: Callable[[], Sequence[str]]) -> None:
        """`chosen` gives the ids of all selected runs: more may be selected than are drawn."""
        super().__init__()
        self._studio = studio
        self._chosen = chosen
        studio.selection_changed.connect(self.changed)
        studio.runs_changed.connect(self.changed)

    def fitting(self, action: Action) -> list[RunRecord]:
        """The selected runs that it can be done with."""
        return [run for run in self._studio.runs.of(self._chosen()) if run.state in action.verb.states]

    def states(self) -> Counter[RunState]:
        """How many of the selected runs are in which state: what fits many runs is known by one look at each."""
        return Counter(run.state for run in self._studio.runs.of(self._chosen()))

    def reason_against(self, action: Action) -> str:
        """Why it cannot be done with what is selected; empty if it can."""
        if self.fitting(action):
            return ""
        chosen = self._studio.runs.of(self._chosen())
        if not chosen:
            return "no run is selected"
        is_so = f"{name_of(chosen[0])} is {chosen[0].state}" if len(chosen) == 1 else "none of the selected is"
        return f"{action.fits}; {is_so}"

    def do(self, action: Action, runs: Sequence[RunRecord]) -> None:
        self._each(runs, action.verb.ask, action.done)

    def resume(self, run_id: str, from_step: int) -> None:
        """Go on from one of its checkpoints; in a new run, if there are newer ones."""
        self._resume(run_id, from_step, discard_newer=False)

    def resume_and_discard(self, run_id: str, from_step: int) -> None:
        """Go on from one of its checkpoints in the run itself, which loses the newer ones."""
        self._resume(run_id, from_step, discard_newer=True)

    def _resume(self, run_id: str, from_step: int, *, discard_newer: bool) -> None:
        run = self._studio.runs.get(run_id)
        if run is None:
            return

        def tell(after: RunRecord) -> None:
            how = f"resumed from step {from_step:,}"
            if after.run_id != run.run_id:
                how = f"a new run, “{name_of(after)}”, goes on from step {from_step:,}"
            self._studio.noticed.emit(Notice(f"{name_of(run)}: {how}", kind="info"))

        def failed(error: MosaicError) -> None:
            self._studio.noticed.emit(Notice(str(error), run.run_id))

        self._studio.link.call(
            lambda client: client.resume(run_id, from_step=from_step, discard_newer=discard_newer),
            tell,
            failed,
            brings_back=True,
        )

    def rename(self, run: RunRecord, label: str) -> None:
        self._each([run], lambda client, run: client.set_label(run.run_id, label=label), f"is now called {label}")

    def rename_all(self, runs: Sequence[RunRecord], label: str) -> None:
        """One name for many runs: the seed tells them apart."""
        self._each(
            runs,
            lambda client, run: client.set_label(run.run_id, label=f"{label} s{run.seed}"),
            f"are now called {label}, with the seed behind it",
        )

    def tag(self, runs: Sequence[RunRecord], *, add: Sequence[str], remove: Sequence[str]) -> None:
        said = [f"tagged {' '.join(add)}"] if add else []
        said += [f"no longer tagged {' '.join(remove)}"] if remove else []
        self._each(
            runs,
            lambda client, run: client.set_label(run.run_id, add_tags=add, remove_tags=remove),
            ", ".join(said),
        )

    def pin(self, runs: Sequence[RunRecord]) -> None:
        """To the top of list and table; where all of them are there, back to their places."""
        if all(is_pinned(run) for run in runs):
            self._tag_pinned(runs, "no longer pinned", remove=True)
        else:
            self._tag_pinned(runs, "pinned to the top", remove=False)

    def _tag_pinned(self, runs: Sequence[RunRecord], said: str, *, remove: bool) -> None:
        add, off = ((), [PINNED]) if remove else ([PINNED], ())
        self._each(runs, lambda client, run: client.set_label(run.run_id, add_tags=add, remove_tags=off), said)

    def set_notes(self, run: RunRecord, notes: str) -> None:
        self._each([run], lambda client, run: client.set_label(run.run_id, notes=notes), "has new notes")

    def _each(self, runs: Sequence[RunRecord], ask: Ask, asked: str) -> None:
        """All of them in one call, so that a hundred runs do not take a hundred turns; each failure is told."""

        def ask_all(client: Client) -> list[tuple[RunRecord, MosaicError]]:
            return [(run, after) for run, after in each(client, runs, ask) if isinstance(after, MosaicError)]

        def tell(failures: list[tuple[RunRecord, MosaicError]]) -> None:
            for run, error in failures:
                self._studio.noticed.emit(Notice(str(error), run.run_id))
            good = len(runs) - len(failures)
            if good:
                who = name_of(runs[0]) if len(runs) == 1 else f"{good} runs"
                self._studio.noticed.emit(Notice(f"{who}: {asked}", kind="info"))

        self._studio.link.call(ask_all, tell, brings_back=True)
