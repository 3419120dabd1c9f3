"""One dataclass gives flags, JSON and schema, and all three obey the same rules."""

import inspect
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Le, MinLen

from mosaic import config
from mosaic.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Network:
    """Shape of the network."""

    hidden_sizes: tuple[Annotated[int, Ge(1)], ...] = (64, 64)
    """Units of each hidden layer."""
    layer_norm: bool = False
    """Normalise each layer."""


@dataclass(frozen=True, kw_only=True)
class Common:
    """Settings of every algorithm."""

    env_id: Annotated[str, MinLen(1)] = "CartPole-v1"
    """Gymnasium id of the environment."""


@dataclass(frozen=True, kw_only=True)
class Args(Common):
    """An algorithm as style.md shows it."""

    learning_rate: Annotated[float, Gt(0)] = 2.5e-4
    """Step size of Adam."""
    gamma: Annotated[float, Ge(0), Le(1)] = 0.99
    """Discount."""
    target_kl: Annotated[float, Gt(0)] | None = None
    """Stop the epoch once the approximate KL exceeds this."""
    num_envs: Annotated[int, Ge(1), Le(256)] = 4
    """Parallel environments."""
    anneal_lr: bool = True
    """Let the step size fall to zero."""
    activation: Literal["tanh", "relu"] = "tanh"
    """Activation of the hidden layers."""
    note: str | None = None
    """Free text."""
    network: Network = Network(hidden_sizes=(32,))
    """The network."""
    table: dict[str, float] = field(default_factory=lambda: {"a": 1.0})
    """Named numbers."""

    @property
    def batch_size(self) -> int:
        return self.num_envs * 128


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Numbers of each kind."""

    steps: Annotated[int, Ge(1)] = 1
    """How many."""
    limit: Annotated[int, Ge(0)] | None = None
    """At most."""
    sizes: tuple[int, ...] = ()
    """Several."""
    rate: float = 1.0
    """How fast."""


@dataclass(frozen=True, kw_only=True)
class Needy:
    """One field without a default."""

    steps: Annotated[int, Ge(1)]
    """How many."""
    loud: bool
    """Whether to shout."""


def problems_of(data: object) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        config.from_json(Args, data, what="sample")
    return {problem.path: problem.message for problem in caught.value.problems}


def flag_problems_of(*argv: str) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        config.from_flags(Args, argv, prog="sample")
    return {problem.path: problem.message for problem in caught.value.problems}


def test_an_empty_object_and_an_empty_command_line_give_the_defaults() -> None:
    assert config.from_json(Args, {}) == Args() == config.from_flags(Args, [], prog="sample")


def test_an_unknown_key_is_refused_at_each_level() -> None:
    assert problems_of({"gama": 0.9, "network": {"width": 3}}) == {
        "gama": "is not a known key",
        "network.width": "is not a known key",
    }


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_envs", True),
        ("num_envs", "1"),
        ("num_envs", 1.0),
        ("num_envs", None),
        ("gamma", "0.9"),
        ("gamma", True),
        ("anneal_lr", 1),
        ("anneal_lr", "true"),
        ("activation", "gelu"),
        ("activation", 1),
        ("env_id", 3),
        ("env_id", None),
        ("note", 3),
        ("target_kl", "0.1"),
        ("network", []),
        ("network", None),
        ("table", []),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_its_path(key: str, value: object) -> None:
    assert list(problems_of({key: value})) == [key]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("learning_rate", 0),
        ("learning_rate", -1e-9),
        ("gamma", 1.0000001),
        ("gamma", -0.1),
        ("target_kl", 0.0),
        ("num_envs", 0),
        ("num_envs", 257),
        ("env_id", ""),
    ],
)
def test_a_value_out_of_bounds_is_refused_with_its_path(key: str, value: object) -> None:
    assert list(problems_of({key: value})) == [key]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("key", ["learning_rate", "gamma", "target_kl"])
def test_nan_and_infinity_are_refused(key: str, value: float) -> None:
    assert "finite" in problems_of({key: value})[key]
    assert problems_of({"table": {"x": value}}).keys() == {"table.x"}


def test_nan_is_refused_even_where_any_json_is_allowed() -> None:
    @dataclass(frozen=True)
    class Loose:
        anything: dict[str, config.JsonValue]

    with pytest.raises(ConfigError) as caught:
        config.from_json(Loose, {"anything": {"deep": [1, {"x": float("nan")}], "y": float("inf")}})
    assert [problem.path for problem in caught.value.problems] == ["anything.deep.1.x", "anything.y"]


def test_every_problem_is_listed_at_once_with_its_path_and_value() -> None:
    bad = {
        "gama": 1,
        "learning_rate": -1,
        "num_envs": "4",
        "activation": "gelu",
        "network": {"hidden_sizes": [64, 0, "8"], "layer_norm": 0},
    }
    found = problems_of(bad)
    assert found == {
        "gama": "is not a known key",
        "learning_rate": "must be greater than 0 (got -1)",
        "num_envs": "must be a valid integer (got '4')",
        "activation": "must be 'tanh' or 'relu' (got 'gelu')",
        "network.hidden_sizes.1": "must be greater than or equal to 1 (got 0)",
        "network.hidden_sizes.2": "must be a valid integer (got '8')",
        "network.layer_norm": "must be a valid boolean (got 0)",
    }
    with pytest.raises(ConfigError, match="sample: 7 problems") as caught:
        config.from_json(Args, bad, what="sample")
    assert all(f"\n  {path}: {message}" in str(caught.value) for path, message in found.items())


def test_a_missing_field_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        config.from_json(Needy, {})
    assert [str(problem) for problem in caught.value.problems] == ["steps: is missing", "loud: is missing"]


def test_a_long_value_is_shortened_in_the_message() -> None:
    message = problems_of({"num_envs": "9" * 100_000})["num_envs"]
    assert len(message) < 300
    assert message.endswith("…)")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "3", '{"gamma": NaN}', '{"gamma": 0.9,}', b"\xff\xfe", "[" * 10_000]
)
def test_text_that_is_no_json_object_is_a_config_error(text: str | bytes) -> None:
    with pytest.raises(ConfigError):
        config.from_json_text(Args, text)


@pytest.mark.parametrize("data", [{"note": object()}, {"note": "\ud800"}, {("a", "b"): 1}])
def test_python_values_that_json_cannot_carry_are_a_config_error(data: object) -> None:
    with pytest.raises(ConfigError):
        config.from_json(Args, data)


def test_flags_build_the_same_value_as_json() -> None:
    argv = "--env-id Acrobot-v1 --learning-rate 1e-3 --target-kl 0.02 --num-envs 8 --no-anneal-lr --activation relu"
    nested = "--network.hidden-sizes 16 8 --network.layer-norm"
    by_flags = config.from_flags(Args, [*argv.split(), *nested.split()], prog="sample")
    by_json = config.from_json(
        Args,
        {
            "env_id": "Acrobot-v1",
            "learning_rate": 1e-3,
            "target_kl": 0.02,
            "num_envs": 8,
            "anneal_lr": False,
            "activation": "relu",
            "network": {"hidden_sizes": [16, 8], "layer_norm": True},
        },
    )
    assert by_flags == by_json


def test_flags_obey_the_bounds_and_all_broken_ones_are_listed() -> None:
    found = flag_problems_of(
        "--learning-rate=-1", "--gamma=nan", "--target-kl=0", "--num-envs=0", "--network.hidden-sizes", "3", "0"
    )
    assert found.keys() == {"--learning-rate", "--gamma", "--target-kl", "--num-envs", "--network.hidden-sizes.1"}
    assert found["--learning-rate"] == "must be greater than 0 (got -1.0)"


def test_a_bad_flag_and_a_bad_json_value_give_the_same_message() -> None:
    assert flag_problems_of("--num-envs=0")["--num-envs"] == problems_of({"num_envs": 0})["num_envs"]


def test_given_defaults_replace_those_of_the_class() -> None:
    given = Args(num_envs=7, note="kept")
    assert config.from_flags(Args, ["--gamma=0.5"], prog="sample", default=given) == Args(
        num_envs=7, note="kept", gamma=0.5
    )


def test_two_configs_share_one_command_line_and_report_their_problems_together() -> None:
    args, needy = config.from_joined_flags(
        Args(note="kept"), Needy(steps=3, loud=False), ["--steps=5", "--gamma=0.5"], prog="sample"
    )
    assert (args, needy) == (Args(note="kept", gamma=0.5), Needy(steps=5, loud=False))
    with pytest.raises(ConfigError) as caught:
        config.from_joined_flags(Args(), Needy(steps=3, loud=False), ["--steps=0", "--gamma=2"], prog="sample")
    assert [problem.path for problem in caught.value.problems] == ["--gamma", "--steps"]


def test_help_shows_every_flag_with_the_docstring_of_its_field(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        config.from_flags(Args, ["--help"], prog="sample")
    assert caught.value.code == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for name, described in config.json_schema(Args)["properties"].items():  # type: ignore[union-attr]
        assert described["description"] in shown, name
        if name != "network":
            assert config.flag_name(name) in shown
    assert "--network.hidden-sizes" in shown


@pytest.mark.parametrize("word", ["--learning-rat=3", "--learning-raet", "--num-env=3", "--gama=1"])
def test_an_unknown_flag_is_refused_with_a_near_match(word: str) -> None:
    near = {"--l": "--learning-rate", "--n": "--num-envs", "--g": "--gamma"}[word[:3]]
    assert f"is not a flag; did you mean {near}" in refused_flags(Args, [word]).sentence


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--num-envs=1.5"], "--num-envs: must be a whole number (got '1.5')"),
        (["--gamma=x"], "--gamma: is not a number; write 1e6, 10M or 2.5e-4 (got 'x')"),
        (["--target-kl=x"], "--target-kl: is not a number; write 1e6, 10M or 2.5e-4 (got 'x')"),
        (["--network.hidden-sizes", "64", "6x"], "--network.hidden-sizes.1: is not a number"),
        (["--activation=gelu"], "--activation: must be 'tanh' or 'relu' (got 'gelu')"),
        (["--num-envs"], "--num-envs: needs a value"),
        (["stray"], "'stray' belongs to no flag"),
        (["--anneal-lr", "False"], "a switch takes no value"),
    ],
)
def test_a_malformed_flag_is_told_on_one_line(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = refused_flags(Args, argv).sentence
    assert said in sentence
    assert "\n" not in sentence
    assert "│" not in sentence
    assert capsys.readouterr() == ("", "")


def test_all_that_is_wrong_with_a_command_line_is_told_at_once() -> None:
    error = refused_flags(Args, ["--num-envs=many", "--gama=1", "--learning-rate=-1", "--activation=gelu"])
    assert [problem.path for problem in error.problems] == ["--gama", "--learning-rate", "--num-envs", "--activation"]


def test_a_missing_flag_is_named() -> None:
    assert "--loud" in refused_flags(Needy, ["--steps=3"]).sentence


@pytest.mark.parametrize(
    ("word", "value"),
    [("1e5", 100_000), ("300k", 300_000), ("2M", 2_000_000), ("1_000", 1000), ("1,000", 1000), ("2.5k", 2500)],
)
def test_whole_numbers_are_read_as_users_write_them(word: str, value: int) -> None:
    made = config.from_flags(Counts, [f"--steps={word}", "--limit", word, "--sizes", word, "7"], prog="sample")
    assert made == Counts(steps=value, limit=value, sizes=(value, 7))
    assert type(made.steps) is int


@pytest.mark.parametrize(("word", "value"), [("1e-3", 1e-3), ("3", 3.0), ("2k", 2000.0), ("-.5", -0.5)])
def test_other_numbers_too(word: str, value: float) -> None:
    assert config.from_flags(Counts, ["--rate", word], prog="sample").rate == value


def test_none_is_a_word_for_an_optional_number() -> None:
    assert config.from_flags(Counts, ["--limit", "None"], prog="sample", default=Counts(limit=3)).limit is None


def refused_flags(cls: type[Any], argv: list[str]) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        config.from_flags(cls, argv, prog="sample")
    assert caught.value.exit_code == 2
    return caught.value


def test_required_fields_survive_the_way_through_flags() -> None:
    value = Needy(steps=3, loud=True)
    assert config.from_flags(Needy, config.to_flags(value), prog="sample") == value


def test_schema_describes_every_field_with_its_default() -> None:
    schema: Any = config.json_schema(Args)
    assert schema["description"] == "An algorithm as style.md shows it."
    assert schema["additionalProperties"] is False
    for name, described in schema["properties"].items():
        assert described["description"], name
        assert described["default"] == config.to_json(Args())[name], name
    network = schema["$defs"]["Network"]
    assert all({"description", "default", "type"} <= described.keys() for described in network["properties"].values())


def test_schema_describes_inherited_fields() -> None:
    schema: Any = config.json_schema(Args)
    assert schema["properties"]["env_id"]["description"] == "Gymnasium id of the environment."


def test_schema_carries_bounds_and_choices() -> None:
    schema: Any = config.json_schema(Args)
    properties = schema["properties"]
    assert properties["learning_rate"]["exclusiveMinimum"] == 0
    assert (properties["gamma"]["minimum"], properties["gamma"]["maximum"]) == (0, 1)
    assert (properties["num_envs"]["minimum"], properties["num_envs"]["maximum"]) == (1, 256)
    assert properties["env_id"]["minLength"] == 1
    assert properties["activation"]["enum"] == ["tanh", "relu"]
    assert properties["target_kl"]["anyOf"] == [{"exclusiveMinimum": 0, "type": "number"}, {"type": "null"}]
    assert schema["$defs"]["Network"]["properties"]["hidden_sizes"]["items"] == {"minimum": 1, "type": "integer"}


def test_required_fields_are_required_in_the_schema() -> None:
    assert config.json_schema(Needy)["required"] == ["steps", "loud"]


def test_a_schema_belongs_to_the_caller() -> None:
    """It is made once for a class, and what one caller does with it no other one sees."""
    first: Any = config.json_schema(Args)
    first["properties"].clear()
    again: Any = config.json_schema(Args)
    assert again["properties"]


def test_changed_only_leaves_out_what_equals_the_default() -> None:
    assert config.to_flags(Args(), changed_only=True) == []
    changed = Args(gamma=0.5, network=Network(hidden_sizes=(32,), layer_norm=True))
    assert config.to_flags(changed, changed_only=True) == ["--gamma=0.5", "--network.layer-norm"]


def test_changed_only_compares_nested_fields_with_the_default_of_their_parent() -> None:
    changed = Args(network=Network(hidden_sizes=(64, 64)))
    words = config.to_flags(changed, changed_only=True)
    assert words == ["--network.hidden-sizes", "64", "64"]
    assert config.from_flags(Args, words, prog="sample") == changed


def test_what_flags_cannot_say_is_refused_rather_than_written_wrong() -> None:
    @dataclass(frozen=True)
    class Listed:
        words: tuple[str, ...] = ()

    with pytest.raises(ConfigError, match="table"):
        config.to_flags(Args(table={"b": 2.0}), changed_only=True)
    with pytest.raises(ConfigError, match="words"):
        config.to_flags(Listed(words=("a", "-b")))


def test_a_path_is_a_text_in_json_and_a_word_in_flags() -> None:
    @dataclass(frozen=True)
    class Places:
        file: Path
        folder: Path | None = None

    value = Places(file=Path("-odd name/é"), folder=None)
    assert config.from_flags(Places, config.to_flags(value), prog="sample") == value
    assert config.to_json(value) == {"file": "-odd name/é", "folder": None}
    assert config.from_json(Places, {"file": "-odd name/é"}) == value


def test_problems_in_a_tagged_union_have_the_path_that_the_writer_knows() -> None:
    @dataclass(frozen=True)
    class Circle:
        kind: Literal["circle"]
        radius: Annotated[float, Gt(0)]

    @dataclass(frozen=True)
    class Square:
        kind: Literal["square"]
        side: float

    @dataclass(frozen=True)
    class Drawing:
        shape: Annotated[Circle | Square, config.tagged_by("kind")]
        pair: tuple[int, int] = (1, 2)

    with pytest.raises(ConfigError) as caught:
        config.from_json(Drawing, {"shape": {"kind": "circle", "radius": -1, "side": 2}, "pair": [1]})
    assert [problem.path for problem in caught.value.problems] == ["shape.radius", "shape.side", "pair.1"]
    with pytest.raises(ConfigError) as caught:
        config.from_json(Drawing, {"shape": {"kind": "square"}})
    assert [str(problem) for problem in caught.value.problems] == ["shape.side: is missing"]
    with pytest.raises(ConfigError) as caught:
        config.from_json(Drawing, {"shape": {"kind": "oval"}})
    assert [problem.path for problem in caught.value.problems] == ["shape"]


def test_a_derived_value_is_in_no_face() -> None:
    assert "batch_size" not in config.to_json(Args())
    assert "batch_size" not in str(config.json_schema(Args))
    assert problems_of({"batch_size": 3}) == {"batch_size": "is not a known key"}


def test_help_texts_are_read_for_a_schema_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """To read them takes most of the time in which a worker gets to know its settings."""

    @dataclass(frozen=True, kw_only=True)
    class Late:
        steps: int = 1
        """How many."""

    read: list[object] = []
    right = inspect.getsource
    monkeypatch.setattr(inspect, "getsource", lambda one: read.append(one) or right(one))
    assert config.to_json(config.from_json(Late, {"steps": 2})) == {"steps": 2}
    assert read == []
    described: Any = config.json_schema(Late)["properties"]
    assert described["steps"]["description"] == "How many."
    assert read == [Late]
