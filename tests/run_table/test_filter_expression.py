"""What filters mean, and what is said of those that mean nothing."""

import pytest

from mosaic.run_table.filter_expression import FilterError, needed, parse


def fitting(table, text: str) -> list[int]:
    mask = parse(text, table.setting_names).fits(table)
    return [record.seed for record, fits in zip(table.records, mask, strict=True) if fits]


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("", [0, 1, 2, 3, 4, 5]),
        ("algo:ppo lr<1e-3 return>100", [2]),
        ("algo:ppo and lr:1e-3", [1, 3]),
        ("return >= 300", [3, 4]),
        ("tag:paper", [3]),
        ("algo:PPO,dqn", [0, 1, 2, 3, 4, 5]),
        ("algo:p*", [0, 1, 2, 3]),
        ("algo=p*", []),
        ("algo!=ppo", [4, 5]),
        ("-algo:ppo", [4, 5]),
        ("not (algo:ppo or seed:5)", [4]),
        ("seed<1 or seed>4", [0, 5]),
        ("walker", [0, 1, 2, 3, 4, 5]),
        ('"walker 3"', [3]),
        ('label:"ALKER 3"', [3]),
        ("label=walker", []),
        ("failed", [5]),
        ("state:fail*", [5]),
        ("anneal-lr:true", [0, 1]),
        ("target_kl:none seed<2", [0, 1]),
        ("return:none", [5]),
        ("tag:none", [0, 1, 2, 4, 5]),
        ("losses/value_loss>=4", [4, 5]),
        ("losses/value_loss.lowest<-3", [4, 5]),
        ("losses/value_loss.best:11", [1]),
        ("started<2023-11-16", [0, 1]),
        ("age>1d", [0, 1, 2, 3, 4, 5]),
        ("total>1", []),
    ],
)
def test_a_filter_leaves_what_it_says(table, text, seeds):
    assert fitting(table, text) == seeds


def test_the_whole_id_its_beginning_and_its_end_name_a_run(table):
    run_id = table.records[2].run_id
    assert fitting(table, f"id:{run_id}") == fitting(table, f"run:{run_id[-8:]}") == [2]


@pytest.mark.parametrize(
    ("text", "marked", "said"),
    [
        ("lrr<3", "lrr", "did you mean lr?"),
        ("return>lots", "lots", "'lots' is not a number; write 1e-3, 300k or 2M"),
        ("seed:x", "x", "'x' is not a number"),
        ("algo<3", "3", "'algo' is text: it has no '<'; write algo:3"),
        ("tag:paper return>", "return>", "a value is missing behind 'return>'"),
        ('label:"a b', '"a b', "a quotation mark is not closed"),
        ("(algo:ppo", "o", "a ( is not closed"),
        ("algo:ppo)", ")", "there is a ) without its ("),
        ("age:2d", "2d", "write age<2d"),
        ("time>soon", "soon", "write 90s, 15min, 2h or 3d"),
        ("started>yesterday", "yesterday", "write 2026-11-30"),
        ("algo:ppo or", "or", "something is missing behind 'or'"),
    ],
)
def test_what_is_no_filter_is_said_at_its_place(table, text, marked, said):
    with pytest.raises(FilterError) as caught:
        parse(text, table.setting_names)
    assert said in str(caught.value)
    assert text[caught.value.start : caught.value.end].strip() == marked


@pytest.mark.parametrize(
    "text", ["(" * 40, '"', ":", "-", "--", "a:", "or or", "())(", "not", "<3", "a:b:c", "x,,", '":"']
)
def test_no_text_does_anything_but_filter_or_be_refused(table, text):
    try:
        rows = len(parse(text, table.setting_names).fits(table))
    except FilterError as error:
        marked = error.start, error.end
        rows = len(table) if 0 <= marked[0] <= marked[1] <= len(text) else marked
    assert rows == len(table)


def test_what_a_filter_needs_is_known_before_it_is_fetched(table):
    names = parse("lr<1 losses/value_loss.auc>0 algo:ppo", table.setting_names).columns()
    assert needed(names) == (True, ["losses/value_loss"])
    assert needed(parse("algo:ppo return>2").columns()) == (False, [])
