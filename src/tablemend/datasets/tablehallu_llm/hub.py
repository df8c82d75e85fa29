"""Pushing a finished data set to the Hugging Face Hub, where that is asked for."""

from __future__ import annotations

import os
from pathlib import Path

from tablemend.datasets.splits import SPLITS
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.errors import TablemendError, install

TOKEN = "HF_TOKEN"
OTHERS = ("README.md", "counts.json", "rejected.jsonl", "settings.json")


def hub_token(settings: LlmSynthesis) -> str | None:
    """The token for what is to be pushed; ``None`` where nothing is.

    Raises:
        TablemendError: there is no token, or no package to push with; before anything is made.
    """
    if settings.push_to_hub is None:
        return None
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise TablemendError(
            f"push_to_hub={settings.push_to_hub} needs a token that may write: set {TOKEN} in the "
            "environment"
        )
    try:
        import huggingface_hub  # noqa: F401
    except ImportError as error:
        raise TablemendError(f"push_to_hub needs the extra: {install('data')}") from error
    return token


def push_dataset(settings: LlmSynthesis, token: str) -> str:
    """Push the data set, but not its rows folder; what is there already is replaced.

    Returns:
        The address of the data set.

    Raises:
        TablemendError: the Hub refused it; nothing here is lost, the same command pushes again.
    """
    from huggingface_hub import HfApi

    assert settings.push_to_hub is not None
    names = [f"{split}.{settings.format}" for split in SPLITS]
    out = Path(settings.out)
    api = HfApi(token=token)
    try:
        api.create_repo(
            settings.push_to_hub,
            repo_type="dataset",
            private=settings.hub_private,
            exist_ok=True,
        )
        commit = api.upload_folder(
            repo_id=settings.push_to_hub,
            repo_type="dataset",
            folder_path=out,
            allow_patterns=[*names, *OTHERS],
            delete_patterns=[f"{split}.*" for split in SPLITS],
            commit_message=f"{settings.n} rows of engine=llm, seed {settings.seed}",
        )
    except Exception as error:  # of whatever HTTP library the client is built on
        reason = next(iter(str(error).splitlines()), type(error).__name__).replace(token, "***")
        raise TablemendError(
            f"push_to_hub={settings.push_to_hub}: {reason}; the data set is whole in {out}, the "
            "same command pushes it again"
        ) from error
    return str(commit.repo_url)
