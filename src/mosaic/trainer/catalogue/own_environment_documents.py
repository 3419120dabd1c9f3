"""What environments and wrappers of users say of themselves, for the catalogue."""

from collections.abc import Iterable, Mapping
from typing import Any

from mosaic.errors import ConfigError, Problem
from mosaic.scripts import own_code_files
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.environment_file import Kind
from mosaic.scripts.own_code_files import OwnCode
from mosaic.spec.catalogue.known_environments import OWN_FAMILY
from mosaic.spec.catalogue.shipped_catalogue import Document
from mosaic.spec.run_dir import Home
from mosaic.trainer.catalogue.own_descriptions import OwnDescriptions, Warm


class OwnEnvironmentDocuments:
    """Of one home."""

    def __init__(self, home: Home, *, warm_output_of: Warm) -> None:
        self._allowed = Allowed(home)
        self._described: dict[Kind, OwnDescriptions] = {
            "environment": OwnDescriptions(
                home, warm_output_of=warm_output_of, cache="own-environments.json", flag="--env"
            ),
            "wrapper": OwnDescriptions(
                home, warm_output_of=warm_output_of, cache="own-wrappers.json", flag="--wrapper"
            ),
        }

    def document(self) -> Document:
        """What is known without waiting: a family of all that can be made, if there are any."""
        known = own_code_files.known(self._allowed, "environment")
        found = ((one, self._described["environment"].known_of(one)) for one in known if not one.problem)
        fit = [(one, about) for one, about in found if about and not about["problem"]]
        return {"families": [_family(fit)]} if fit else {}

    def refresh(self) -> None:
        """Describe what is new or has changed; this waits for a worker."""
        for one in own_code_files.known(self._allowed, "environment"):
            if not one.problem:
                self._described["environment"].of(one)

    def broken(self) -> list[tuple[OwnCode, str]]:
        """Those that cannot be made, and why."""
        known = own_code_files.known(self._allowed, "environment")
        found = ((one, one.problem or self._described["environment"].of(one)["problem"]) for one in known)
        return [(one, problem) for one, problem in found if problem]

    def family_of(self, env_id: str) -> Document:
        """A family of this one alone, which need not be among those that are listed; the error says what is wrong."""
        one, about = self._about(env_id, "environment")
        return _family([(one, about)])

    def schema_of_wrapper(self, name: str) -> Document:
        """The arguments of a wrapper, as the catalogue has those of Gymnasium's."""
        return self._about(name, "wrapper")[1]["wrapper"]

    def _about(self, word: str, kind: Kind) -> tuple[OwnCode, Document]:
        one = own_code_files.find(word, self._allowed, kind)
        if one.problem:
            raise one.error
        self._allowed.real_path(one.file, verb=own_code_files.VERB)
        about = self._described[kind].of(one)
        if about["problem"]:
            raise ConfigError([Problem(word, about["problem"])], what=one.place)
        return one, about


def _family(found: Iterable[tuple[OwnCode, Mapping[str, Any]]]) -> Document:
    entries: list[Document] = []
    settings: Document = {}
    for one, about in found:
        entries.append({**about["environment"], "place": one.place, "settings": {"of": one.name, "changed": {}}})
        settings[one.name] = about["settings"]
    return {
        "name": OWN_FAMILY,
        "title": "Your own",
        "extra": "",
        "installed": True,
        "advice": "",
        "environments": entries,
        "settings": settings,
        "unlisted": [],
    }
