"""Uploading a folder to the Hugging Face Hub; the only importer of its library.

The token is found by the library itself (`HF_TOKEN`, or what `hf auth login` stored): it is in no argument and no file
of ours. `HF_ENDPOINT` names another server.
"""

from pathlib import Path
from typing import Any

from mosaic.errors import MissingExtra, MosaicError


class HubFailed(MosaicError):
    """The Hub refused, or could not be reached; the folder is whole and can be uploaded again."""


def check_ready() -> None:
    """Before anything that takes time: is the library there, and a user to upload as?"""
    hub = _library()
    if hub.get_token() is None:
        raise HubFailed(
            "you are not logged in to the Hugging Face Hub: run 'hf auth login', or set HF_TOKEN;"
            " --dry-run DIR writes the folder without uploading it"
        )


def upload(folder: Path, repo: str, *, private: bool, message: str) -> str:
    """Make the repository if need be and upload everything in one commit; its address."""
    hub = _library()
    api: Any = hub.HfApi()
    try:
        made = api.create_repo(repo_id=repo, private=private, exist_ok=True)
        api.upload_folder(repo_id=made.repo_id, folder_path=folder, commit_message=message)
    except Exception as error:  # A border: httpx and the library raise a dozen kinds, and each ends the same way.
        said = " ".join(str(error).split())
        raise HubFailed(f"the upload to {repo} failed: {said}; everything is in {folder}") from error
    return str(made)


def _library() -> Any:
    try:
        import huggingface_hub
    except ImportError as error:
        raise MissingExtra("publishing to the Hugging Face Hub", "hub") from error
    return huggingface_hub
