"""Write the catalogue that ships with the package (`make catalogue`); with --check, fail if it is not fresh.

Everything that the project knows must be installed: what is not would be missing in the catalogue of all users.
"""

import json
import subprocess
import sys
from typing import Any

from mosaic.spec.catalogue import shipped_catalogue
from mosaic.spec.catalogue.importable_packages import plugin_groups


def main() -> int:
    made = text_of(described())
    if "--check" not in sys.argv[1:]:
        shipped_catalogue.FILE.write_text(made)
        return 0
    if made != shipped_catalogue.FILE.read_text():
        print(f"{shipped_catalogue.FILE.name} is not fresh; run 'make catalogue'", file=sys.stderr)
        return 1
    return 0


def described() -> dict[str, Any]:
    """What a worker describes here; SystemExit if that is not all that there is, or more."""
    content: dict[str, Any] = {}
    for program in shipped_catalogue.DESCRIBERS:
        command = [sys.executable, "-m", program]
        content |= json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    missing = [one["extra"] for one in (*content["families"], *content["actors"]) if not one["installed"]]
    if missing:
        raise SystemExit(f"install these extras first: {', '.join(sorted(set(missing)))}")
    lacking = [name for one in content["families"] for name, is_there in one["optional"].items() if not is_there]
    if lacking:
        raise SystemExit(f"install these packages first ('make setup'): {', '.join(lacking)}")
    if plugins := list(plugin_groups(shipped_catalogue.PLUGINS)):
        raise SystemExit(f"a package adds to {', '.join(plugins)} here, which is not ours to ship")
    return content


def text_of(content: dict[str, Any]) -> str:
    """The file: an entry a line, so that a change is one line of a diff."""
    # Pages are read where they lie.
    algorithms = [{key: one[key] for key in one if key != "docs"} for one in content["algorithms"]]
    parts: list[str] = []
    for part, entries in {**content, "algorithms": algorithms}.items():
        rows = ",\n".join(f"   {json.dumps(entry, ensure_ascii=False)}" for entry in entries)
        parts.append(f'  "{part}": [\n{rows}\n  ]')
    digests = json.dumps(shipped_catalogue.digests(), indent=2).replace("\n", "\n ")
    whole = ",\n".join(parts)
    return f'{{\n "digests": {digests},\n "content": {{\n{whole}\n }}\n}}\n'


if __name__ == "__main__":
    raise SystemExit(main())
