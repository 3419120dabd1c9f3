"""Wrappers as they are typed, kept, checked and shown."""

import pytest

from mosaic.errors import ConfigError
from mosaic.spec import environment_flags, own_code, wrappers
from mosaic.spec.environment_settings import spoken
from mosaic.spec.wrappers import BadWords, Worded

KNOWN = {
    "TimeLimit": {
        "properties": {"max_episode_steps": {"type": "integer", "minimum": 1}},
        "required": ["max_episode_steps"],
    },
    "Scale": {
        "properties": {"low": {"type": "number"}, "shape": {"type": "array"}, "name": {"type": "string"}},
        "changes": ["observations"],
    },
    "RecordVideo": {"refused": "is what --capture-video does"},
    "shaping.py:Bonus": {"properties": {"scale": {"type": "number", "default": 0.5}}, "changes": ["rewards"]},
}
SCHEMA = {"properties": {"wrappers": {"type": "array", "known": KNOWN}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("TimeLimit:200", Worded("TimeLimit", ["200"], {})),
        ("Scale:shape=[1,2],name='a,b'", Worded("Scale", [], {"shape": "[1,2]", "name": "'a,b'"})),
        ("mypkg.shaping:Bonus", Worded("mypkg.shaping:Bonus", [], {})),
        ("./a b/shaping.py:Bonus:0.5,name=x", Worded("./a b/shaping.py:Bonus", ["0.5"], {"name": "x"})),
        ("shaping:Bonus", Worded("shaping:Bonus", [], {})),
    ],
)
def test_words_of_a_wrapper(text: str, meant: Worded) -> None:
    assert wrappers.split_words(text) == meant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("timelimit", "names no wrapper"),
        ("TimLimit:3", "Gymnasium has no wrapper TimLimit; did you mean TimeLimit"),
        ("TimeLimit:3,4", "does not take 2 arguments; it has max_episode_steps"),
        ("TimeLimit:3,max_episode_steps=4", "given twice, once by its place"),
        ("Scale:low=1,2", "stands behind one that has"),
        ("Scale:low=1,low=2", "low was given twice"),
        ("RecordVideo", "is what --capture-video does"),
        ("other.py:Bonus:3", "name them, as in argument=3"),
    ],
)
def test_words_that_mean_no_wrapper(text: str, said: str) -> None:
    with pytest.raises(BadWords, match=said):
        wrappers.read_words(text, KNOWN)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([{"name": "TimeLimit"}], "TimeLimit needs max_episode_steps, as in TimeLimit:max_episode_steps=…"),
        ([{"name": "TimeLimit", "arguments": {"max_steps": 3}}], "did you mean max_episode_steps?"),
        ([{"name": "TimeLimit", "arguments": {"max_episode_steps": 0}}], "a whole number, at least 1 (got 0)"),
        ([{"name": "Nothing"}], "Gymnasium has no wrapper Nothing"),
        (["TimeLimit:3"], "is not a wrapper"),
        ([{"name": "TimeLimit", "kwargs": {}}], "is not a wrapper"),
        ("TimeLimit:3", "are a list"),
    ],
)
def test_what_is_wrong_with_wrappers_of_a_config(given: object, said: str) -> None:
    assert any(said in problem.message for problem in wrappers.problems_of(given, KNOWN))


def flags(*words: str) -> environment_flags.EnvironmentFlags:
    rest, found = environment_flags.take(["--label", "x", *words], what="test")
    assert rest == ["--label", "x"]
    return found


def test_flags_give_wrappers_in_order_and_shown_as_they_are_typed() -> None:
    made = flags("--wrap", "shaping.py:Bonus:0.1", "--wrap=TimeLimit:5").settings(SCHEMA, env_id="E", what="test")
    assert made == {
        "wrappers": [
            {"name": "shaping.py:Bonus", "arguments": {"scale": 0.1}},
            {"name": "TimeLimit", "arguments": {"max_episode_steps": 5}},
        ]
    }
    assert spoken(made) == "--wrap shaping.py:Bonus:scale=0.1 --wrap TimeLimit:max_episode_steps=5"


def test_no_wrappers_takes_those_of_a_training_away() -> None:
    trained = {"gravity": 1, "wrappers": [{"name": "TimeLimit", "arguments": {"max_episode_steps": 5}}]}
    assert wrappers.merged(trained, flags("--no-wrap").settings(SCHEMA, env_id="E", what="test")) == {"gravity": 1}
    assert wrappers.merged(trained, {}) == trained


@pytest.mark.parametrize(
    "words", [("--wrap",), ("--no-wrap", "--wrap", "TimeLimit:3"), ("--wrap", "TimeLimit:3", "--no-wrap")]
)
def test_flags_that_contradict_each_other_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=r"--no-wrap|needs a wrapper"):
        flags(*words)


def test_an_environment_for_several_takes_no_wrappers() -> None:
    from mosaic.spec.environment_settings import problems_of

    [problem] = problems_of({"wrappers": [{"name": "TimeLimit"}]}, {"properties": {}}, env_id="classic/chess_v6")
    assert "for several players" in problem.message


def test_references_have_no_folder() -> None:
    assert own_code.is_reference("my_env.py:MyEnv")
    assert not own_code.is_reference("./my_env.py:MyEnv")
    assert not own_code.is_reference("module:Env-v0")
    assert own_code.typed("/a/my_env.py:MyEnv-v0") == ("/a/my_env.py", "MyEnv-v0")
