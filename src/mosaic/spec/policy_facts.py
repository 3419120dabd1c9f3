"""What a policy file says of itself, found without running anything in it: kind, algorithm, environment, seed, steps.

Ours is a safetensors file whose header says everything. A file of upstream CleanRL (`torch.save`) and a zip of
Stable-Baselines3 say little or nothing: what is missing is looked for around the file, in this order: a `config.json`
in its folder (a run config, or an object with `algo` or `exp_name`, `env_id` and `seed`), a run config up to three
folders above, the name of its folder (`CartPole-v1__ppo__1__1700000000`, `CartPole-v1-ppo-seed1`), any other
`config.json` up to three folders above, the front matter of a model card (`README.md`), and the file's own name
(`ppo.cleanrl_model`). Weights are not looked at here: a worker does that.
"""

import re
import stat
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeGuard, cast

from mosaic import config
from mosaic.errors import PolicyError
from mosaic.spec.event_fields import MAX_WHOLE
from mosaic.spec.files.files_of_run import open_regular
from mosaic.spec.files.policy_digest import FORMAT, MAX_HEADER_BYTES

SUFFIX = ".cleanrl_model"
MAX_SIBLING_BYTES = 2**20
FOLDERS_ABOVE = 3
MAX_NAME = 1000
UNKNOWN = "unknown"
"""Environment of a run whose script, or whose other tool, does not say it."""

Kind: TypeAlias = Literal["mosaic", "cleanrl", "sb3"]

_LABEL = re.compile(r"(?P<env_id>.+?)__(?P<algo>[A-Za-z0-9_.-]+?)__(?P<seed>\d+)__\d+")
_REPOSITORY = re.compile(r"(?P<env_id>.+-v\d+)-(?P<algo>[A-Za-z0-9_]+)-seed(?P<seed>\d+)")
_CARD_ENV = re.compile(r"^[\s-]+dataset:\s*\n\s+name:\s*['\"]?([^\s'\"]+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class PolicyFacts:
    """A policy file; what is not known is empty."""

    path: Path
    """The file itself, absolute."""
    kind: Kind
    """Who wrote it: MOSAIC, CleanRL or Stable-Baselines3."""
    algo: str = ""
    """Algorithm, by its file name."""
    env_id: str = ""
    """Environment that it was trained in."""
    seed: int | None = None
    """Seed that it was trained with."""
    global_step: int | None = None
    """Environment steps that it was trained for."""
    source: str = ""
    """Where the environment was found."""
    env_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings of that environment; empty in a file of an earlier version, which knew none."""


def find(word: Path) -> Path:
    """The policy file that a path means: itself, or the only one in a downloaded repository or a run directory."""
    path = word.expanduser().absolute()
    if not path.is_dir():
        return path
    found = sorted(path.glob(f"*{SUFFIX}")) or sorted(path.glob(f"runs/*/*{SUFFIX}"))
    if len(found) == 1:
        return found[0]
    names = ", ".join(each.name for each in found)
    what = f"several policies: {names}; name one of them" if found else f"no policy (*{SUFFIX})"
    raise PolicyError(f"the folder {path} holds {what}")


def read(word: Path) -> PolicyFacts:
    """What there is to know of a policy file, or PolicyError that says why it is none."""
    path = word
    try:
        path = find(word)
        if not stat.S_ISREG(path.stat().st_mode):
            raise PolicyError(f"{path} cannot be read as a policy: it is not a file")
        kind = _kind_of(path)
        facts = PolicyFacts(path=path, kind=kind)
        return _from_header(facts) if kind == "mosaic" else _from_surroundings(facts)
    except OSError as error:
        raise PolicyError(f"{path} cannot be read as a policy: {error.strerror or error}") from error
    except (ValueError, RuntimeError) as error:  # a NUL, a home of no user
        raise PolicyError(f"{str(path)!r} cannot be read as a policy: {error}") from error


def _kind_of(path: Path) -> Kind:
    with open_regular(path, follow=True) as file:
        start = file.read(9)
    if start.startswith(b"PK"):
        return _kind_of_zip(path)
    has_header = len(start) == 9 and start[8:] == b"{"
    # First: the length of a header may begin with the byte that a pickle begins with.
    if has_header and int.from_bytes(start[:8], "little") <= MAX_HEADER_BYTES:
        return "mosaic"
    if start.startswith(b"\x80"):  # A pickle, as torch wrote them before it wrote zips.
        return "cleanrl"
    if has_header:
        return "mosaic"
    raise PolicyError(
        f"{path} cannot be read as a policy: it is neither a policy of MOSAIC (safetensors), nor one of CleanRL"
        " (torch.save), nor a Stable-Baselines3 zip; it may be cut off"
    )


def _kind_of_zip(path: Path) -> Kind:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, ArithmeticError, EOFError, struct.error) as error:
        raise PolicyError(f"{path} cannot be read as a policy: {error}; it may be cut off") from error
    if "data" in names and ("policy.pth" in names or "_stable_baselines3_version" in names):
        return "sb3"
    if any(name.endswith("/data.pkl") for name in names):
        return "cleanrl"
    raise PolicyError(f"{path} cannot be read as a policy: it is a zip, but none of torch or Stable-Baselines3")


def _from_header(facts: PolicyFacts) -> PolicyFacts:
    """A length (uint64, little endian), then so many bytes of JSON."""
    with open_regular(facts.path, follow=True) as file:
        length = int.from_bytes(file.read(8), "little")
        if length > MAX_HEADER_BYTES:
            raise PolicyError(f"{facts.path} cannot be read as a policy: its header would have {length:,} bytes")
        text = file.read(length)
    try:
        metadata: Any = config.any_json(text).get("__metadata__") or {}
        if metadata.get("format") != FORMAT:
            raise PolicyError(f"{facts.path} is a safetensors file, but not a MOSAIC policy ({FORMAT})")
        return replace(
            facts,
            algo=_name(metadata["algo"]),
            env_id=_name(metadata["env_id"]),
            seed=_whole(config.any_json(metadata["args"]).get("seed")),
            global_step=_step(metadata["global_step"]),
            source="the file",
            env_settings=_settings(metadata.get("env_settings")),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        cut = "; it is cut off" if len(text) < length else ""
        raise PolicyError(f"{facts.path} cannot be read as a policy: its header is damaged ({error!r}){cut}") from error


def _from_surroundings(facts: PolicyFacts) -> PolicyFacts:
    for found in _hints(facts.path):
        facts = replace(
            facts,
            algo=facts.algo or found.algo,
            env_id=facts.env_id or found.env_id,
            seed=found.seed if facts.seed is None else facts.seed,
            source=facts.source or (found.source if found.env_id else ""),
        )
    return facts


def _hints(path: Path) -> Iterator[PolicyFacts]:
    empty = PolicyFacts(path=path, kind="cleanrl")
    above = list(_configs(path.parents[1 : FOLDERS_ABOVE + 1]))
    for place, found in [*_configs(path.parents[:1]), *((place, one) for place, one in above if "metadata" in one)]:
        yield _from_config(replace(empty, source=str(place)), found)
    for pattern in (_LABEL, _REPOSITORY):
        if match := pattern.fullmatch(path.parent.name):
            env_id = match["env_id"]
            # Upstream's label of ALE/Breakout-v5 is a folder in a folder; ours has a dash there.
            if path.parent.parent.name == "ALE" or env_id.startswith("ALE-"):
                env_id = f"ALE/{env_id.removeprefix('ALE-')}"
            seed = _whole(int(match["seed"]))
            yield replace(empty, algo=match["algo"], env_id=env_id, seed=seed, source="the name of its folder")
    for place, found in above:
        yield _from_config(replace(empty, source=str(place)), found)
    card = _small_text(path.parent / "README.md")
    if card and (match := _CARD_ENV.search(card)):
        yield replace(empty, env_id=match[1], source="the model card beside it")
    if path.suffix == SUFFIX:
        yield replace(empty, algo=path.stem)


def _configs(folders: Iterable[Path]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for folder in folders:
        found = _json_object(folder / "config.json")
        if found is not None:
            yield folder / "config.json", found


def _from_config(facts: PolicyFacts, document: Mapping[str, Any]) -> PolicyFacts:
    for key in ("metadata", "worker", "config"):  # A run config keeps them inside.
        inner = document.get(key)
        document = cast("dict[str, Any]", inner) if isinstance(inner, dict) else document
    algo, env_id = document.get("algo") or document.get("exp_name"), document.get("env_id")
    return replace(
        facts,
        # A run of a script has its path there.
        algo=Path(algo).name.removesuffix(".py") if _is_name(algo) else "",
        env_id=env_id if _is_name(env_id) and env_id != UNKNOWN else "",
        seed=_whole(document.get("seed")),
    )


def _settings(text: object) -> dict[str, Any]:
    if text is None:
        return {}
    found: Any = config.any_json(text) if isinstance(text, str) else None
    if not isinstance(found, dict):
        raise ValueError("env_settings is not a JSON object")
    return cast("dict[str, Any]", found)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**32 else None


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= MAX_NAME


def _name(value: object) -> str:
    if not _is_name(value):
        raise ValueError(f"a name of at most {MAX_NAME} characters is needed")
    return value


def _step(value: object) -> int:
    step = int(value) if isinstance(value, str) else -1
    if not 0 <= step <= MAX_WHOLE:
        raise ValueError("global_step is not a number of steps")
    return step


def _json_object(path: Path) -> dict[str, Any] | None:
    """None for a file that is not there, or belongs to another program."""
    try:
        content: Any = config.any_json(_small_text(path) or "null")
    except ValueError:
        return None
    return cast("dict[str, Any]", content) if isinstance(content, dict) else None


def _small_text(path: Path) -> str | None:
    try:
        with open_regular(path, follow=True) as file:
            text = file.read(MAX_SIBLING_BYTES + 1)
        return text.decode(errors="replace") if len(text) <= MAX_SIBLING_BYTES else None
    except OSError:
        return None
