"""What a page may change, where the server was started with --allow-control: start, end, pause and label runs."""

from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mosaic import config
from mosaic.errors import ConfigError, Problem
from mosaic.numbers import parse_int
from mosaic.rpc.client import Client
from mosaic.rpc.run_operations import RUN_VERBS
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.seed_list import parse_seeds
from mosaic.web.channels.run_channel import shown
from mosaic.web.channels.sweeps_channel import VERBS as SWEEP_VERBS
from mosaic.web.channels.sweeps_channel import summary_of
from mosaic.web.daemon_news import DaemonNews
from mosaic.web.json_answers import answer, answering, body_of, in_thread

VERBS = ("cancel", "pause", "continue", "resume")


class ControlRequests:
    """A daemon that was killed is started for them, as by a command."""

    def __init__(self, news: DaemonNews) -> None:
        self._news = news

    def routes(self) -> list[Route]:
        return [
            Route("/api/form", answering(self.form)),
            Route("/api/environment", answering(self.environment)),
            Route("/api/runs", answering(self.start), methods=["POST"]),
            Route("/api/runs/{run}/label", answering(self.label), methods=["POST"]),
            Route("/api/runs/{run}/{verb}", answering(self.run_verb), methods=["POST"]),
            Route("/api/sweeps/{sweep}/{verb}", answering(self.sweep_verb), methods=["POST"]),
        ]

    async def form(self, _: Request) -> Response:
        """Everything that the form is made of: the schemas that make the window's form and the flags."""
        return answer(await in_thread(lambda: _form(self._client())))

    async def environment(self, request: Request) -> Response:
        found = await in_thread(lambda: self._client().environment(request.query_params.get("env_id", "")))
        return answer(
            {
                "status": found.status,
                "actions": found.actions,
                "observations": found.observations,
                "settings": found.settings,
                "near": found.near,
            }
        )

    async def start(self, request: Request) -> Response:
        """The run config as a whole; the daemon checks it, and says of every field what is wrong."""
        body = await body_of(request)
        given, key = body.get("document"), body.get("client_key")
        document = cast("dict[str, Any]", given) if isinstance(given, dict) else None
        if document is None or not isinstance(key, str) or not key:
            raise ConfigError([Problem("document", "and client_key are needed")], what="request")
        seeds, priority = _seeds(body.get("seeds", "")), _priority(body.get("priority", 0))
        runs = await in_thread(lambda: self._client().submit(document, seeds=seeds, priority=priority, client_key=key))
        return answer({"runs": [run.run_id for run in runs]})

    async def run_verb(self, request: Request) -> Response:
        run_id, verb = request.path_params["run"], request.path_params["verb"]
        if verb not in VERBS:
            return answer({"error": f"'{verb}' is not one of {', '.join(VERBS)}"}, 404)
        client = await in_thread(self._client)
        record = await in_thread(lambda: RUN_VERBS[verb].ask(client, client.get(run_id)))
        return answer(shown(record))

    async def label(self, request: Request) -> Response:
        body = await body_of(request)
        label, notes, tags = body.get("label"), body.get("notes"), body.get("tags")
        if not all(value is None or isinstance(value, str) for value in (label, notes, tags)):
            raise ConfigError([Problem("label", "notes and tags must be texts")], what="request")

        def change() -> object:
            client = self._client()
            run = client.get(request.path_params["run"])
            wanted = None if tags is None else set(tags.replace(",", " ").split())
            return shown(
                client.set_label(
                    run.run_id,
                    label=label,
                    notes=notes,
                    add_tags=sorted(wanted - set(run.tags)) if wanted is not None else (),
                    remove_tags=sorted(set(run.tags) - wanted) if wanted is not None else (),
                )
            )

        return answer(await in_thread(change))

    async def sweep_verb(self, request: Request) -> Response:
        sweep_id, verb = request.path_params["sweep"], request.path_params["verb"]
        if verb not in SWEEP_VERBS:
            return answer({"error": f"'{verb}' is not one of {', '.join(SWEEP_VERBS)}"}, 404)
        return answer(summary_of(await in_thread(lambda: self._client().control_sweep(sweep_id, verb))))

    def _client(self) -> Client:
        self._news.bring_back()
        return self._news.client


def _form(client: Client) -> dict[str, Any]:
    algorithms = client.algorithms()
    return {
        "algorithms": [
            {
                "name": one.name,
                "summary": one.summary,
                "actions": one.actions,
                "observations": one.observations,
                "schema": one.schema,
            }
            for one in algorithms.values()
        ],
        "families": [
            {
                "name": family.name,
                "installed": family.installed,
                "advice": family.advice,
                "environments": [[one.env_id, one.actions, one.observations] for one in family.environments],
            }
            for family in client.environments()
        ],
        "options": config.json_schema(TrainOptions),
    }


def _seeds(text: Any) -> list[int]:
    try:
        return parse_seeds(str(text))
    except ValueError as error:
        raise ConfigError([Problem("seeds", str(error))], what="form") from None


def _priority(value: Any) -> int:
    try:
        return parse_int(str(value))
    except ValueError as error:
        raise ConfigError([Problem("priority", str(error))], what="form") from None
