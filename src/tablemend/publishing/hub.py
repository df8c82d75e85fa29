"""What the commands of publishing take, and the push to the Hugging Face Hub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from tablemend.config import Section
from tablemend.errors import TablemendError
from tablemend.evaluation.command import ReportCommand

ON_HUB = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


class MergeCommand(ReportCommand):
    """What train/merge.py takes."""

    out: str | None = None
    """Folder for the merged checkpoint; null is `merged` in the run folder."""
    prompts: int = Field(default=8, ge=1)
    """Real prompts on which the logits before and after are compared."""
    tolerance: float | None = Field(default=None, gt=0)
    """Largest difference of a logit that is accepted; null: four times what it makes to round the
    merged weights once more. A weight that lacks its adapter is refused with any."""


class OnHub(Section):
    """What everything that is published takes."""

    repo_id: str
    """Name on the Hub: OWNER/NAME."""
    push: bool = False
    """Push the folder; otherwise it is only written."""
    private: bool = True
    """Whether a repository that the push makes is private."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """What is no name on the Hub, and what only a push reads."""
        if not ON_HUB.fullmatch(self.repo_id):
            yield (
                "repo_id",
                f"{self.repo_id!r} is no name on the Hub: OWNER/NAME, of letters, digits, - _ .",
            )
        if not self.push and not self.private:
            yield "private", "only a push reads it: set push=true"


class PublishDataCommand(OnHub):
    """What data_gen/publish.py takes."""

    data: str
    """Folder of a data set that a script of data_gen/ wrote."""
    license: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9.-]*$")
    """Licence by its name on the Hub (`cc-by-sa-4.0`); null: what its tables are known to be under,
    and of invented ones `apache-2.0`."""
    language: str = Field(default="en", pattern=r"^[a-z]{2,3}$")
    """Language of the texts."""
    out: str | None = None
    """Folder to write; null is `publish` in the data set's."""


class PublishCommand(OnHub, ReportCommand):
    """What train/publish.py takes."""

    merged: bool = False
    """Publish what train/merge.py made of the adapter, not the adapter."""
    system: str | None = None
    """System of the comparison that the checkpoint's results are taken from; null is the first one
    that answers with it and mends nothing."""
    license: str | None = None
    """Licence of the weights, by its name on the Hub (`apache-2.0`); a push needs it."""
    base_model: str | None = None
    """What the weights were made from, on the Hub, where a local folder does not tell; `none`: it
    is not there."""
    datasets: tuple[str, ...] | None = None
    """Data sets on the Hub that were trained on, where a local folder does not tell; `[]`: they are
    not there."""
    out: str | None = None
    """Folder to write; null is `publish` in the run folder."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Base and data sets that are no names on the Hub; see also :class:`OnHub`."""
        yield from super().conflicts()
        for name in {self.base_model} - {None, "none"} | set(self.datasets or ()):
            if not ON_HUB.fullmatch(str(name)):
                key = "base_model" if name == self.base_model else "datasets"
                yield key, f"{name!r} is no name on the Hub: OWNER/NAME"


BEHIND = "tablemend"
"""Folder beside the weights with what the card's numbers come from."""
STALE = (
    "*.safetensors",
    "*.safetensors.index.json",
    "adapter_config.json",
    f"{BEHIND}/*",
    ".eval_results/*",
)
"""What an earlier push may have left that this one does not replace: weights, numbers."""


@dataclass(frozen=True, slots=True)
class PublishedFolder:
    """What was written.

    Attributes:
        folder: where.
        missing: what keeps it from being pushed.
        license: of a data set.
        splits: of a data set: examples in each.
    """

    folder: Path
    missing: Sequence[str] = ()
    license: str = ""
    splits: Mapping[str, int] = field(default_factory=dict)


def hub_token() -> str:
    """The token of this machine, before anything is written.

    Raises:
        TablemendError: there is none.
    """
    from huggingface_hub import get_token

    token = get_token()
    if not token:
        raise TablemendError(
            "push=true needs a token that may write: set HF_TOKEN in the environment, or run "
            "`hf auth login`"
        )
    return token


def push(published: PublishedFolder, command: OnHub, token: str) -> str:
    """Push the folder, all that leaves this machine; files of the same name are replaced, older
    weights, results and Parquet files deleted.

    Returns:
        The address of the repository.

    Raises:
        TablemendError: something is missing, or the Hub refused it.
    """
    from huggingface_hub import HfApi

    if published.missing:
        raise TablemendError(
            f"{published.folder} is not pushed, it lacks {'; '.join(published.missing)}"
        )
    is_data = isinstance(command, PublishDataCommand)
    kind = "dataset" if is_data else "model"
    content = (
        "Data set with its card" if is_data else "Checkpoint with its card, results and recipe"
    )
    api = HfApi(token=token)
    try:
        api.create_repo(command.repo_id, repo_type=kind, private=command.private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=command.repo_id,
            repo_type=kind,
            folder_path=published.folder,
            delete_patterns=["*.parquet"] if is_data else list(STALE),
            commit_message=content,
        )
    except Exception as error:  # of whatever HTTP library the client is built on
        reason = next(iter(str(error).splitlines()), type(error).__name__).replace(token, "***")
        raise TablemendError(
            f"{command.repo_id}: {reason}; the folder is whole in {published.folder}, the same "
            "command pushes it again"
        ) from error
    return str(commit.repo_url)
