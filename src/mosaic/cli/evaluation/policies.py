"""`mosaic policies`: every policy that a run of this home has saved."""

from collections.abc import Sequence

from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.runs.run_by_name import shown_id
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import clean, print_json, table
from mosaic.rpc.policy_info import PolicyInfo


def main(argv: Sequence[str]) -> int:
    words = parser("policies", "List the policies that runs have saved, newest first.", json=True)
    words.add_argument("text", nargs="?", default="", help="only those whose run, algorithm or environment contains it")
    words.number("--limit", low=0, default=50, metavar="N", help="list at most N; 0 is all (default 50)")
    words.add_argument("--paths", action="store_true", help="the paths of the files alone, for scripts")
    flags = words.parse_args(argv)
    with connect() as client:
        found = [policy for policy in client.policies() if _matches(policy, flags.text)]
    found = found[: flags.limit] if flags.limit else found
    if flags.json:
        for policy in found:
            print_json(vars(policy))
    elif flags.paths:
        for policy in found:
            print(policy.path)
    elif not found:
        print("no policy yet; a run saves one when it ends ('mosaic train ppo')")
    else:
        names = ("run", "label", "algorithm", "environment", "steps", "return", "saved")
        for line in table(names, [_row(policy) for policy in found], right=("steps", "return"), shrink="label"):
            print(line)
    return 0


def _matches(policy: PolicyInfo, text: str) -> bool:
    return text.lower() in " ".join((policy.run_id, policy.label, policy.algo, policy.env_id)).lower()


def _row(policy: PolicyInfo) -> list[str]:
    return [
        shown_id(policy.run_id),
        clean(policy.label),
        policy.algo,
        policy.env_id,
        "–" if policy.global_step is None else readable.count(policy.global_step),
        readable.score(policy.last_return),
        readable.when(policy.saved_at),
    ]
