"""Every policy that a run of this home has saved; a finished run's appears by itself."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mosaic.errors import ConfigError, PolicyError, Problem, UnsafePath
from mosaic.rpc import policy_info
from mosaic.rpc.policy_info import PolicyInfo
from mosaic.spec import manifest, policy_facts
from mosaic.spec.files import policy_digest
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import RunRecord
from mosaic.trainer.index.index_store import Store

PAGE = 1000


@dataclass(frozen=True)
class _Saved:
    """What a run's manifest said of its policies."""

    stamp: int
    """When the manifest was written, in nanoseconds."""
    files: "tuple[_File, ...]"


@dataclass(frozen=True)
class _File:
    path: Path
    global_step: int | None
    kind: str
    env_id: str
    """As its surroundings say it."""
    env_settings: Mapping[str, Any]


class Policies:
    """The list. Manifests are read again only where they have changed."""

    def __init__(self, home: Home, store: Store) -> None:
        self._home = home
        self._store = store
        self._known: dict[str, _Saved] = {}

    def saved(self) -> list[PolicyInfo]:
        """Newest first."""
        found: list[PolicyInfo] = []
        after = ""
        while True:
            page = self._store.page(states=(), text="", size=PAGE, after=after)
            for run in page.runs:
                if run.kind == "train":
                    found += self._of(run)
            if not (after := page.next_token):
                return sorted(found, key=lambda policy: policy.saved_at, reverse=True)

    def describe(self, word: str) -> PolicyInfo:
        """A file or folder on this machine; what a run of this home saved is described by that run."""
        path = Path(word)
        if not path.is_absolute():
            raise ConfigError([Problem("path", f"'{word}' is not an absolute path")], what="DescribePolicy")
        facts = policy_facts.read(path)
        if facts.kind == "mosaic":
            # Who asks for this one is about to use it; a list looks at headers only.
            policy_digest.check_file(facts.path)
        for run in self._owner(facts.path):
            for policy in self._of(run):
                if Path(policy.path) == facts.path:
                    return policy
        return policy_info.of_file(facts, saved_at=facts.path.stat().st_mtime)

    def _owner(self, path: Path) -> list[RunRecord]:
        inside = path.relative_to(self._home.runs).parts if path.is_relative_to(self._home.runs) else ()
        run = self._store.get(inside[0]) if inside else None
        return [] if run is None else [run]

    def _of(self, run: RunRecord) -> list[PolicyInfo]:
        policies: list[PolicyInfo] = []
        for file in self._files(self._home.run(run.run_id)):
            try:
                saved_at = file.path.stat().st_mtime
            except OSError:  # Removed by hand: no longer a policy.
                continue
            found = policy_info.of_run(
                run,
                str(file.path),
                global_step=file.global_step,
                saved_at=saved_at,
                kind=file.kind,
                env_settings=file.env_settings,
            )
            # A run that does not know its environment must not be taken at its word.
            policies.append(replace(found, env_id=file.env_id) if run.env_id == policy_facts.UNKNOWN else found)
        return policies

    def _files(self, run_dir: RunDir) -> tuple[_File, ...]:
        try:
            stamp = run_dir.manifest.stat().st_mtime_ns
        except OSError:
            return ()
        known = self._known.get(run_dir.run_id)
        if known is None or known.stamp != stamp:
            known = self._known[run_dir.run_id] = _Saved(stamp, _read(run_dir))
        return known.files


def _read(run_dir: RunDir) -> tuple[_File, ...]:
    try:
        artifacts = manifest.read_parts(run_dir)[0].artifacts
    except OSError:
        # A directory that is being removed: nothing to offer.
        return ()
    found: list[_File] = []
    for artifact in artifacts:
        if artifact.kind == "policy":
            try:
                facts = policy_facts.read(run_dir.inside(artifact.path))
            except (OSError, UnsafePath, PolicyError):
                # Removed, damaged, or no policy after all (a script's optimiser): the others are offered.
                continue
            found.append(_File(facts.path, artifact.global_step, facts.kind, facts.env_id, facts.env_settings))
    return tuple(found)
