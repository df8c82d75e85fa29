"""Pushing a written folder to the Hugging Face Hub, where that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from huggingface_hub import HfApi, get_token

from tablemend.errors import TablemendError
from tablemend.publishing.command import OnHub, PublishCommand, PublishDataCommand
from tablemend.publishing.reproduction import BEHIND

if TYPE_CHECKING:
    from tablemend.publishing.folder import Published

STALE = (
    "*.safetensors",
    "*.safetensors.index.json",
    "adapter_config.json",
    f"{BEHIND}/*",
    ".eval_results/*",
)
"""What an earlier push may have left that this one does not replace: weights, numbers."""


def hub_token() -> str:
    """The token of this machine, before anything is written.

    Raises:
        TablemendError: there is none.
    """
    token = get_token()
    if not token:
        raise TablemendError(
            "push=true needs a token that may write: set HF_TOKEN in the environment, or run "
            "`hf auth login`"
        )
    return token


def push(published: Published, command: PublishCommand, token: str) -> str:
    """Push the folder; files of the same name are replaced, older weights and results deleted.

    Returns:
        The address of the repository.

    Raises:
        TablemendError: something is missing, or the Hub refused it.
    """
    if published.missing:
        raise TablemendError(
            f"{published.folder} is not pushed, it lacks {'; '.join(published.missing)}"
        )
    message = "Checkpoint with its card, results and recipe"
    return _upload(published.folder, command, token, "model", message, STALE)


def push_data(folder: Path, command: PublishDataCommand, token: str) -> str:
    """Push a data set; its files replace those of an earlier push.

    Returns:
        The address of the repository.

    Raises:
        TablemendError: the Hub refused it.
    """
    return _upload(folder, command, token, "dataset", "Data set with its card", ("*.parquet",))


def _upload(
    folder: Path, command: OnHub, token: str, kind: str, message: str, stale: Sequence[str]
) -> str:
    """All that leaves this machine."""
    api = HfApi(token=token)
    try:
        api.create_repo(command.repo_id, repo_type=kind, private=command.private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=command.repo_id,
            repo_type=kind,
            folder_path=folder,
            delete_patterns=list(stale),
            commit_message=message,
        )
    except Exception as error:  # of whatever HTTP library the client is built on
        reason = next(iter(str(error).splitlines()), type(error).__name__).replace(token, "***")
        raise TablemendError(
            f"{command.repo_id}: {reason}; the folder is whole in {folder}, the same command "
            "pushes it again"
        ) from error
    return str(commit.repo_url)
