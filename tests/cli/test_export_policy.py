"""`mosaic export-policy` on a real run: a file that acts as the policy does, and what is refused before one is made."""

from pathlib import Path


def test_a_policy_is_exported_and_says_how_it_was_checked(mosaic, finished, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "cart.py"
    said = mosaic("export-policy", finished, str(out))
    assert said.code == 0, said.err
    assert "checked: 1,000 of 1,000 actions are those of the policy (played in CartPole-v1)" in said.out
    assert sorted(path.name for path in out.parent.iterdir()) == ["cart.py", "cart.safetensors"]
    again = mosaic("export-policy", finished, str(out))
    assert (again.code, "is there already; --force replaces it" in again.err) == (2, True)
    [told] = mosaic("export-policy", finished, str(out), "--force", "--json").objects
    assert (told["files"], told["different"]) == ([str(out), str(out.with_suffix(".safetensors"))], 0)


def test_what_cannot_be_exported_is_refused_first(mosaic, finished, tmp_path: Path) -> None:
    for words, reason in {
        (finished, "policy.zip"): "'policy.zip' must end in .onnx, or in .py",
        ("missing", "policy.py"): "run 'missing' is not known",
        (finished, "a-file/policy.py"): "could not be written",
    }.items():
        (tmp_path / "a-file").write_text("")
        said = mosaic("export-policy", words[0], str(tmp_path / words[1]))
        assert said.code != 0
        assert reason in said.err, said.err
    assert [path.name for path in tmp_path.iterdir()] == ["a-file"]
