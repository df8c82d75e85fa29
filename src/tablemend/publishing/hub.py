"""Pushing a written folder to the Hugging Face Hub, where that is asked for."""

from __future__ import annotations

from huggingface_hub import HfApi, get_token

from tablemend.errors import TablemendError
from tablemend.publishing.command import PublishCommand
from tablemend.publishing.folder import Published
from tablemend.publishing.reproduction import BEHIND

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
    api = HfApi(token=token)
    try:
        api.create_repo(command.repo_id, private=command.private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=command.repo_id,
            folder_path=published.folder,
            delete_patterns=list(STALE),
            commit_message="Checkpoint with its card, results and recipe",
        )
    except Exception as error:  # of whatever HTTP library the client is built on
        reason = next(iter(str(error).splitlines()), type(error).__name__).replace(token, "***")
        raise TablemendError(
            f"{command.repo_id}: {reason}; the folder is whole in {published.folder}, the same "
            "command pushes it again"
        ) from error
    return str(commit.repo_url)
