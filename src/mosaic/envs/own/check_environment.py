"""`python -m mosaic.envs.own.check_environment REQUEST`: an environment tried before anything is trained in it.

REQUEST is JSON: `env_id` (a file of the user's by its path, too), `steps`, `json`, and the words of its settings
(`words`, `kwargs`, `wraps`). Each check prints a line; the exit code is 1 if one of them found something to change.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from mosaic import envs
from mosaic.envs.own import environment_checks, loaded_code
from mosaic.envs.own.environment_checks import Finding, Tried
from mosaic.envs.settings.settings_schema import settings_schema
from mosaic.envs.wrapping.chosen_wrappers import known_for
from mosaic.errors import EnvironmentFailed, MosaicError
from mosaic.spec.environment_flags import EnvironmentFlags

PROG = "mosaic envs check"
CHECKS: tuple[tuple[str, Callable[[Tried], Iterator[Finding]]], ...] = (
    ("Gymnasium's checker", environment_checks.of_gymnasium),
    ("spaces", environment_checks.of_spaces),
    ("seeding", environment_checks.of_seeding),
    ("determinism", environment_checks.of_determinism),
    ("ends of episodes", environment_checks.of_ends),
    ("snapshot and resume", environment_checks.of_resume),
    ("pictures", environment_checks.of_pictures),
    ("speed", environment_checks.of_speed),
)


def main(argv: Sequence[str] | None = None) -> int:
    [text] = sys.argv[1:] if argv is None else argv
    request: dict[str, Any] = json.loads(text)
    envs.headless_defaults()
    # What Gymnasium's checker has to say is told once, by its own check.
    warnings.simplefilter("ignore")
    try:
        tried = _tried(request)
    except MosaicError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    is_fit = True
    for name, check in CHECKS:
        try:
            findings = list(check(tried))
        except EnvironmentFailed as error:
            findings = [Finding(str(error), is_problem=True)]
        except Exception as error:  # A border: a user's environment may raise anything.
            findings = [Finding(environment_checks.raised(error), is_problem=True)]
        is_fit = is_fit and not any(one.is_problem for one in findings)
        _show(name, findings, as_json=request["json"])
    if not request["json"]:
        verdict = "can be trained in" if is_fit else "should be changed where it is marked"
        sys.stdout.write(f"{tried.env_id} {verdict}\n")
    return 0 if is_fit else 1


def _tried(request: Mapping[str, Any]) -> Tried:
    """The environment, made once: what stands in its way to that is said at once."""
    env_id = loaded_code.of_typed(request["env_id"])
    given = EnvironmentFlags(words=request["words"], kwargs=request["kwargs"], wraps=request["wraps"])
    given = given.with_names(loaded_code.of_typed)
    schema = known_for(settings_schema(env_id), given.names)
    tried = Tried(env_id, given.settings(schema, env_id=env_id, what=PROG), request["steps"])
    with closing(envs.make(env_id, render_mode=None, settings=tried.settings)):
        return tried


def _show(name: str, findings: Sequence[Finding], *, as_json: bool) -> None:
    if as_json:
        said = [{"text": one.text, "problem": one.is_problem} for one in findings]
        sys.stdout.write(json.dumps({"check": name, "ok": not any(one.is_problem for one in findings), "said": said}))
        sys.stdout.write("\n")
    else:
        for one in findings:
            sys.stdout.write(f"{'change' if one.is_problem else 'ok    '}  {name}: {one.text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
