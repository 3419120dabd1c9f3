"""What a run was made from and what it has left behind, as the daemon tells it."""

from typing import cast

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import MosaicError
from mosaic.gui.models.batch import Batch, Detail, Notice
from mosaic.rpc.client import Client, Refused
from mosaic.rpc.locate import DaemonUnavailable
from mosaic.spec.manifest import Artifact, ArtifactKind


def detail_of(run_id: str, client: Client) -> Batch:
    """As a piece of news; what cannot be read is a notice."""
    notices: list[Notice] = []
    document: JsonObject = {}
    artifacts: tuple[Artifact, ...] = ()
    try:
        artifacts = tuple(
            Artifact(
                kind=cast(ArtifactKind, item.kind),
                path=item.path,
                label=item.label,
                global_step=item.global_step if item.HasField("global_step") else None,
            )
            for item in client.artifacts(run_id)
        )
        if damage := client.manifest_damage(run_id):
            notices.append(Notice(damage, run_id))
        if data := _config(run_id, client):
            document = config.loads(data, what="config.json")
    except DaemonUnavailable:
        raise
    except MosaicError as error:
        notices.append(Notice(str(error), run_id))
    return Batch(details=(Detail(run_id, document, artifacts),), notices=tuple(notices))


def _config(run_id: str, client: Client) -> bytes:
    """Empty for a run that a person started without one."""
    try:
        return b"".join(client.read_artifact(run_id, "config.json"))
    except Refused as refused:
        if refused.status == "INVALID_ARGUMENT":
            return b""
        raise
