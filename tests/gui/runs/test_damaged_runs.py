"""A run with damaged files is marked in the list and in the overview, by its record alone."""

from mosaic.gui.models.runs.runs_model import NOTICES, RunsModel
from mosaic.spec.run_record import RunRecord

RUN = "01K9CG05J5Y0FFQMT1T920EZK2"


def test_the_list_marks_a_run_whose_record_tells_of_damage() -> None:
    model = RunsModel()
    model.take([RunRecord(run_id=RUN)])
    assert not model.data_of(RUN, NOTICES)
    model.take([RunRecord(run_id=RUN, damaged_lines=3, first_damaged_line=812)])
    said = "3 damaged lines in events.jsonl, the first is line 812; the others count"
    assert model.data_of(RUN, NOTICES) == (said,)
    model.add_notice(RUN, "and something else")
    assert list(model.notices(RUN)) == [said, "and something else"]


def test_the_list_marks_a_run_whose_record_was_made_anew() -> None:
    model = RunsModel()
    model.take([RunRecord(run_id=RUN, damage="run.json was damaged")])
    assert "run.json was damaged" in model.notices(RUN)


def test_what_a_run_warned_of_is_told_with_it() -> None:
    model = RunsModel()
    model.take([RunRecord(run_id=RUN, warnings=("the loss of ppo.py differs",))])
    assert model.notices(RUN) == ("the loss of ppo.py differs",)
