"""Columns, their order, what keeps them up to date, and groups."""

from dataclasses import replace

import pytest

from mosaic.run_table.row_groups import cell_of, grouped
from mosaic.run_table.run_columns import UnknownColumn, resolve, shown_value
from mosaic.run_table.table_rows import TableRows, differing
from mosaic.spec.run_dir import new_run_id
from mosaic.spec.run_record import RunRecord


def seeds(table, rows) -> list[int]:
    return [table.records[row].seed for row in rows]


def test_without_a_column_the_newest_is_first(table):
    assert seeds(table, table.in_order("", downwards=False)) == [5, 4, 3, 2, 1, 0]


def test_what_has_no_value_stands_last_in_either_direction(table):
    assert seeds(table, table.in_order("return", downwards=False)) == [0, 1, 2, 3, 4, 5]
    assert seeds(table, table.in_order("return", downwards=True)) == [4, 3, 2, 1, 0, 5]


def test_equal_values_stay_newest_first(table):
    assert seeds(table, table.in_order("algo", downwards=False)) == [5, 4, 3, 2, 1, 0]
    assert seeds(table, table.in_order("algo", downwards=True)) == [3, 2, 1, 0, 5, 4]


@pytest.mark.parametrize("name", ["return", "label", "learning_rate", "losses/value_loss.auc", "tags"])
def test_a_column_that_was_made_follows_what_changes(table, name):
    table.in_order(name, downwards=False), table.column(name).codes
    record = table.records[1]
    table.take([replace(record, last_return=1e6, label="zebra", tags=("a", "b"))])
    table.take_settings(record.run_id, {"learning_rate": 7.0})
    fresh = TableRows()
    fresh.take(table.records)
    for run in table.records:
        fresh.take_settings(run.run_id, table.settings_of(run.run_id) or {})
        fresh.take_metrics(run.run_id, table._metrics[table.row_of(run.run_id)])  # pyright: ignore
    assert table.column(name).values == fresh.column(name).values
    for downwards in (False, True):
        assert list(table.in_order(name, downwards=downwards)) == list(fresh.in_order(name, downwards=downwards))


def test_only_columns_that_changed_are_told(table):
    table.column("return"), table.column("label")
    assert table.take([replace(table.records[1], last_return=3.0)]) == {"return"}
    assert table.take([table.records[1]]) == set()


def test_a_run_that_goes_takes_its_row_with_it(table):
    gone, kept = table.records[2].run_id, table.records[3].run_id
    table.column("seed")
    table.remove([gone])
    assert table.row_of(gone) is None
    assert table.column("seed").values[table.row_of(kept)] == 3
    table.take_settings(gone, {"learning_rate": 1.0})


def test_settings_are_asked_for_again_when_a_run_is_resumed(table):
    run = table.records[0]
    assert table.without_settings() == []
    table.take([replace(run, attempt=run.attempt + 1)])
    assert table.without_settings() == [run.run_id]


def test_differing_settings_are_those_that_not_all_runs_share():
    same, other = {"a": 1, "b": 2, "c": True}, {"a": 1, "b": 3, "c": 1, "d": 4}
    assert differing([same, None, other], ["a", "b", "c", "d"]) == ["b", "c", "d"]
    assert differing([same], same) == []


def test_groups_hold_their_rows_and_a_mean_with_n(table):
    rows = table.in_order("", downwards=False)
    groups = grouped(table, rows, ["algo", "learning_rate"])
    assert [(group.values, seeds(table, group.rows)) for group in groups] == [
        (("dqn", None), [5]),
        (("dqn", 1e-4), [4]),
        (("ppo", 1e-3), [3, 1]),
        (("ppo", 1e-4), [2, 0]),
    ]
    cell = cell_of(table, groups[2], "return")
    assert (cell.text, cell.n) == ("200.0  n 2", 2)
    assert "no interval below 5 runs: 100.0, 300.0" in cell.tip
    assert cell_of(table, groups[0], "return").text == ""


def test_five_runs_have_an_interval_that_is_called_rough(table):
    [group] = grouped(table, table.in_order("", downwards=False), ["env"])
    cell = cell_of(table, group, "return")
    assert (cell.text, cell.n) == ("200.0 ± 196.3  n 5", 5)
    assert "rough" in cell.tip
    assert "1 of the group have no value" in cell.tip
    assert cell_of(table, group, "algo").text == "2 values"


def test_a_mean_of_counts_is_a_whole_number(table):
    table.take([replace(run, global_step=100_001) for run in table.records[:5]])
    [group] = grouped(table, table.in_order("", downwards=False), ["env"])
    assert cell_of(table, group, "steps").text == "83,334 ± 42,843  n 6"


def test_a_table_without_runs_has_columns_and_no_groups():
    empty = TableRows()
    assert list(empty.in_order("return", downwards=True)) == []
    assert grouped(empty, empty.in_order("", downwards=False), ["algo"]) == []


def test_short_names_and_tags_are_columns(table):
    assert resolve("lr", table.setting_names) == "learning_rate"
    assert resolve("auc", ()) == "charts/episodic_return.auc"
    assert resolve("losses/x", ()) == "losses/x.last"
    with pytest.raises(UnknownColumn, match="did you mean losses/value_loss"):
        resolve("losses/value_los.best", (), ["losses/value_loss"])


def test_cells_read_as_users_write(table):
    assert shown_value("learning_rate", 2.5e-4) == "0.00025"
    assert shown_value("steps", 1_000_000) == "1,000,000"
    assert shown_value("time", 3723.0) == "1:02:03"
    assert shown_value("done", 0.5) == "50%"
    assert shown_value("return", 123.456) == "123.5"
    assert shown_value("tags", ("a", "b")) == "a, b"


def test_a_run_that_is_taken_late_is_in_every_column(table):
    table.column("algo")
    table.take([RunRecord(run_id=new_run_id(), algo="sac")])
    assert table.column("algo").values[-1] == "sac"
    assert table.column("learning_rate").values[-1] is None
