"""`mosaic show RUN`: everything about a run."""

from collections.abc import Collection, Sequence
from typing import Any, cast

from mosaic import config
from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.runs.progress_line import summary_of
from mosaic.cli.runs.queue_words import waits
from mosaic.cli.runs.run_by_name import pick, shown_id
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import clean, columns, paint, pairs, print_json, table
from mosaic.errors import ConfigError
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.client import Client, Refused
from mosaic.spec.environment_settings import spoken
from mosaic.spec.presets import preset_use
from mosaic.spec.run_record import RunRecord, damage_of
from mosaic.spec.states import TERMINAL, RunState

ARTIFACTS_SHOWN = 12


def main(argv: Sequence[str]) -> int:
    flags = parser("show", "Everything about a run.", json=True, runs="RUN").parse_args(argv)
    with connect() as client:
        run = pick(client, flags.run)
        document, problem = _config_or_problem(client, run)
        why = waits(client, [run]).get(run.run_id, "")
        artifacts = client.artifacts(run.run_id)
        damage = [text for text in (*damage_of(run), client.manifest_damage(run.run_id), problem) if text]
    advice = _advice(run, {artifact.kind for artifact in artifacts})
    if flags.json:
        left = [_as_json(artifact) for artifact in artifacts]
        told = {"config": document, "artifacts": left, "damage_found": damage, "next": advice}
        print_json(readable.as_json(run) | told)
        return 0
    print("\n".join(pairs(_facts(run, _environment(document), clean(preset_use.spoken(document)), why))))
    if damage:
        print(f"\n{paint('damaged', 'red')}")
        print("\n".join(f"  {clean(text)}" for text in damage))
    if run.warnings:
        print(f"\n{paint('warnings', 'yellow')}")
        print("\n".join(f"  {clean(text)}" for text in run.warnings))
    if changed := _settings(document):
        print(f"\n{paint('settings', 'bold')}\n{changed}")
    if artifacts:
        rows = [_row(artifact) for artifact in artifacts]
        print("\n" + "\n".join(table(("artifacts", "step", "size", "path"), rows[-ARTIFACTS_SHOWN:], right=("size",))))
        if len(rows) > ARTIFACTS_SHOWN:
            print(f"… and {len(rows) - ARTIFACTS_SHOWN} before these; --json lists all")
    if run.stderr_tail:
        print(f"\n{paint('last lines of stderr', 'bold')}")
        print("\n".join(f"  {clean(line)}" for line in run.stderr_tail))
    print(f"\n{paint('   '.join(advice), 'dim')}")
    return 0


def config_of(client: Client, run: RunRecord) -> dict[str, Any]:
    """The run config, as its directory keeps it."""
    return config.loads(b"".join(client.read_artifact(run.run_id, "config.json")), what="config.json")


def _config_or_problem(client: Client, run: RunRecord) -> tuple[dict[str, Any], str]:
    """The config, or why it cannot be read: the rest of a run with a damaged one is shown."""
    try:
        return config_of(client, run), ""
    except (ConfigError, Refused) as error:
        return {}, str(error)


def _environment(document: dict[str, Any]) -> str:
    """Its settings, where it has any."""
    about = document.get("environment")
    settings = cast("dict[str, Any]", about).get("settings") if isinstance(about, dict) else None
    return clean(spoken(cast("dict[str, Any]", settings))) if isinstance(settings, dict) else ""


def _facts(run: RunRecord, environment: str, preset: str, why: str) -> dict[str, str]:
    spark = readable.sparkline(run.sparkline, min(48, columns() - 20))
    state = paint(run.state, readable.COLOUR_OF[run.state])
    return {
        "run": run.run_id,
        "label": clean(run.label),
        "tags": clean(" ".join(run.tags)),
        "notes": clean(run.notes),
        "state": f"{state}: {clean(run.reason or why)}" if run.reason or why else state,
        "ended": summary_of(run) if run.state in (RunState.FINISHED, RunState.CANCELLED) else "",
        "what": f"{run.algo or run.kind} on {run.env_id}, seed {run.seed}",
        "environment": environment,
        "preset": preset,
        "group": run.group,
        "branched": f"from run {run.parent} at step {run.parent_step:,}" if run.parent else "",
        "progress": f"{run.global_step:,} / {run.steps_in_all:,} steps" if run.steps_in_all else "",
        "rate": f"{run.steps_per_s:,.0f} steps/s" if run.steps_per_s else "",
        "left": readable.duration(run.eta_s) if run.eta_s is not None else "",
        "return": f"{readable.score(run.last_return)} (best {readable.score(run.best_return)})  {paint(spark, 'cyan')}",
        "submitted": readable.moment(run.submitted_at),
        "started": readable.moment(run.started_at),
        "ended at": readable.moment(run.ended_at),
        "attempt": str(run.attempt) if run.attempt > 1 else "",
        "worker": f"pid {run.pid}" if run.pid else "",
        "exit code": "" if run.exit_code is None else str(run.exit_code),
        "priority": str(run.priority) if run.priority else "",
        "directory": run.run_dir,
    }


def _settings(document: dict[str, Any]) -> str:
    params = document
    for key in ("metadata", "worker", "config", "extras", "algo_params"):
        inner = params.get(key)
        params = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    return "\n".join(f"  {line}" for line in pairs({name: str(value) for name, value in params.items()}))


def _row(artifact: pb.Artifact) -> tuple[str, str, str, str]:
    step = f"{artifact.global_step:,}" if artifact.HasField("global_step") else ""
    kind = f"{artifact.kind} ({artifact.label})" if artifact.label else artifact.kind
    return kind, step, readable.size(artifact.bytes) if artifact.bytes else "", artifact.path


def _as_json(artifact: pb.Artifact) -> dict[str, object]:
    step = artifact.global_step if artifact.HasField("global_step") else None
    return {
        "kind": artifact.kind,
        "path": artifact.path,
        "global_step": step,
        "label": artifact.label,
        "bytes": artifact.bytes,
    }


def _advice(run: RunRecord, left: Collection[str]) -> Sequence[str]:
    """The next commands, of those that what the run left behind allows."""
    name = shown_id(run.run_id)
    if run.state not in TERMINAL:
        return [f"mosaic follow {name}", f"mosaic logs -f {name}", f"mosaic cancel {name}"]
    evaluate = [f"mosaic evaluate {name}"] if "policy" in left else []
    if run.state is RunState.FINISHED:
        return [f"mosaic metrics {name}", *evaluate, f"mosaic export {name} run.zip"]
    logs = [f"mosaic logs {name} --stderr"] if run.state is not RunState.CANCELLED else []
    resume = [f"mosaic resume {name}"] if "checkpoint" in left else []
    return [*logs, *resume, *evaluate, f"mosaic delete {name}"]
