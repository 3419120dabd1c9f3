"""What a page asks over HTTP about several runs: statistics of groups, and which settings of a sweep matter."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mosaic.errors import ConfigError, Problem
from mosaic.spec.run_dir import is_run_id
from mosaic.web.json_answers import answer, answering
from mosaic.web.typed_verbs import named, objects_of

MOST_GROUPS = 50


class StudyRequests:
    """Asked of the command line, which has the rules and their reasons."""

    def routes(self) -> list[Route]:
        return [
            Route("/api/statistics", answering(self.statistics)),
            Route("/api/sweeps/{sweep}/importance", answering(self.importance)),
        ]

    async def statistics(self, request: Request) -> Response:
        given = request.query_params
        groups = named(given.getlist("group"))
        if not 1 <= len(groups) <= MOST_GROUPS:
            raise ConfigError([Problem("group", f"name 1 to {MOST_GROUPS} groups")], what="statistics")
        by = [f"--by={given['by']}"] if given.get("by") else []
        switches = [f"--{name}" for name in ("evaluations", "leave-out") if name in given]
        return answer(await objects_of("stats", "--json", *by, *switches, *groups))

    async def importance(self, request: Request) -> Response:
        sweep = request.path_params["sweep"]
        if not is_run_id(sweep):
            raise ConfigError([Problem("sweep", "must be an id")], what="request")
        found = await objects_of("sweep", "show", sweep, "--json")
        return answer(found[0].get("importance", {}) if found else {})
