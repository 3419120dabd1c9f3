"""Rules between settings as data: what they refuse, in which words, and what they cannot be made to do."""

import inspect
from dataclasses import dataclass

import pytest

from cleanrl_worker.sdk.command import algorithm_catalogue, settings_rules
from mosaic import config
from mosaic.errors import ConfigError
from mosaic.rules import NotARule, Rule, checked


@dataclass(frozen=True, kw_only=True)
class Args:
    total_timesteps: int = 100
    num_envs: int = 4
    rate: float | None = None

    def __post_init__(self) -> None:
        """Checked by the code that makes one."""
        if self.num_envs > self.twice:
            raise ValueError(f"num_envs is {self.num_envs}, more than {self.twice:,}")
        if self.rate is not None and not 0 < self.rate < 1:
            raise ValueError(f"rate is {self.rate:g}, not between 0 and 1")
        if any(letter == "x" for letter in str(self.rate)):
            raise ValueError("what only code can tell is left to the worker")

    @property
    def twice(self) -> int:
        return 2 * self.total_timesteps


def test_rules_are_read_out_of_code_as_far_as_they_are_expressions():
    assert [rule.refused_if for rule in settings_rules.rules_of(Args)] == [
        "num_envs > 2 * total_timesteps",
        "rate is not None and (not 0 < rate < 1)",
        "total_timesteps < num_envs",
    ]


def test_a_class_made_from_a_schema_has_the_rules_of_the_code_in_the_same_words():
    schema = {**config.json_schema(Args), config.RULES: [vars(rule) for rule in settings_rules.rules_of(Args)]}
    made = config.class_from_schema(schema, name="Args")
    for settings in ({"num_envs": 900}, {"rate": 2.0}, {"rate": 0.5, "num_envs": 5000, "total_timesteps": 1000}):
        said = []
        for cls in (Args, made):
            with pytest.raises(ConfigError) as refused:
                config.from_json(cls, settings)
            said.append(refused.value.problems[0])
        assert said[0] == said[1]
    assert config.from_json(made, {"rate": 0.5}).rate == 0.5
    with pytest.raises(ConfigError) as refused:
        config.from_flags(made, ["--num-envs", "900"], prog="mosaic")
    assert str(refused.value.problems[0]) == "--num-envs: is 900, more than 200"


def test_every_algorithm_has_its_rules_in_the_schema():
    """A rule that is written in another way would be told late, by the worker."""
    for name in algorithm_catalogue.names():
        args = algorithm_catalogue.load(name).Args
        written = inspect.getsource(args.__post_init__).count("raise ") if hasattr(args, "__post_init__") else 0
        assert len(settings_rules.rules_of(args)) == written + 1, name


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "num_envs.__class__",
        "[x for x in (1,)]",
        "lambda: 1",
        "2 ** 10 ** 10",
        "f'{num_envs:>1000000000}'",
        "f'{num_envs!r}'",
        "open('x')",
        "(y := 3)",
        "max(1, key=abs)",
        "1 +",
        "x" * 3000,
        "-".join(["1"] * 600),
    ],
)
def test_nothing_but_a_rule_is_evaluated(text):
    with pytest.raises(NotARule):
        checked(Rule(refused_if=text, message="f''"))


def test_a_rule_of_values_that_cannot_be_compared_refuses_nothing():
    assert Rule(refused_if="a < b", message="'never'").broken_by({"a": "x", "b": 1}) == ""
    assert Rule(refused_if="a % b", message="'never'").broken_by({"a": 1, "b": 0}) == ""
    assert Rule(refused_if="a * 1000000000 == b", message="'never'").broken_by({"a": "x", "b": 1}) == ""
    assert Rule(refused_if="missing", message="'never'").broken_by({}) == ""
    assert Rule(refused_if="a or b", message="f'{min(a, b) if a else b:.2f}'").broken_by({"a": 0, "b": 2}) == "2.00"
