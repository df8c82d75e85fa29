"""Where a model's weights are: what can be said of a checkpoint without loading it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from tablemend.errors import TablemendError
from tablemend.runs import hash_file

WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
PICKLED = ("*model*.bin", "*model*.pt", "consolidated*.pth")
CONFIG = "config.json"
ADAPTER = "adapter_config.json"
PARTS = f"""{CONFIG} {ADAPTER} generation_config.json merges.txt vocab.txt special_tokens_map.json
    added_tokens.json chat_template.json""".split()
"""Files beside weights, tokenizer and template that can change an answer."""
PREFIX = "hf:"
HUB_SECONDS = 10
"""Longest wait for the Hub to say which revision is the newest."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model to load: a folder, or a name on the Hugging Face Hub.

    Attributes:
        path: folder or name.
        revision: commit or tag on the Hub; ``None`` for a folder, or the newest.
    """

    path: str
    revision: str | None = None

    @classmethod
    def parse(cls, text: str, revision: str | None = None) -> Checkpoint:
        """A checkpoint from ``hf:NAME_OR_FOLDER`` or a bare name or folder."""
        path = text.removeprefix(PREFIX)
        return cls(path, None if Path(path).is_dir() else revision)

    @property
    def folder(self) -> Path | None:
        """The folder on this machine, or ``None`` for a name on the Hub."""
        return local_folder(self.path)

    @property
    def adapter_base(self) -> Checkpoint | None:
        """The base model of a LoRA adapter's folder; ``None`` where the weights are whole."""
        folder = self.folder
        if folder is None or not (folder / ADAPTER).is_file():
            return None
        config = json.loads((folder / ADAPTER).read_text(encoding="utf-8"))
        return Checkpoint.parse(config["base_model_name_or_path"], config.get("revision"))

    @property
    def base(self) -> Checkpoint:
        """Where the whole weights are: an adapter's base, else itself."""
        return self.adapter_base or self

    def check(self) -> None:
        """Refuse a folder that cannot be a checkpoint; a Hub name is taken on trust.

        Raises:
            TablemendError: no such folder, or one without a configuration or weights.
        """
        folder = self.folder
        if folder is None:
            return
        if not folder.is_dir():
            raise TablemendError(f"no checkpoint folder {folder}")
        config = ADAPTER if (folder / ADAPTER).is_file() else CONFIG
        if not (folder / config).is_file():
            raise TablemendError(f"{folder} is no checkpoint: it has no {CONFIG}")
        if not _has(folder, "*.safetensors"):
            raise TablemendError(
                f"{folder} has pickled weights alone, which can run anything: save them as "
                "safetensors where you trust them (save_pretrained)"
                if _has(folder, *PICKLED)
                else f"{folder} has a {config} but no weights (*.safetensors): "
                "train the model first, or copy the weight files there"
            )
        if self.adapter_base is not None:
            self.adapter_base.check()

    def fingerprint(self) -> str:
        """A hash that changes whenever the model could answer otherwise.

        For a folder: every file in it by content (weights, tokenizer, chat template), and an
        adapter's base. For a Hub name: the commit, looked up where no revision is given.
        """
        folder = self.folder
        if folder is None:
            return f"{self.path}@{self.revision or _hub_commit(self.path)}"
        files = sorted(path for path in folder.iterdir() if _is_part(path))
        parts = [f"{path.name} {hash_file(path)}" for path in files]
        if self.adapter_base is not None:
            parts.append(self.adapter_base.fingerprint())
        return sha256("\n".join(parts).encode()).hexdigest()[:16]


def _has(folder: Path, *patterns: str) -> bool:
    """Whether a file of these patterns is there and not empty."""
    return any(path.stat().st_size for pattern in patterns for path in folder.glob(pattern))


def _is_part(path: Path) -> bool:
    """Whether a checkpoint's file can change an answer; training state and cards cannot."""
    return path.is_file() and (
        any(path.match(pattern) for pattern in WEIGHTS)
        or path.suffix in (".jinja", ".model")
        or path.name in PARTS
        or path.name.endswith(("tokenizer.json", "tokenizer_config.json", "vocab.json"))
    )


def local_folder(path: str) -> Path | None:
    """The folder that a path means, or ``None`` where it is a name on the Hub.

    A Hub name is ``owner/name`` and no path: neither it nor its first part is here.
    """
    folder = Path(path).expanduser()
    is_name = re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", path) is not None
    if folder.exists() or not is_name or Path(folder.parts[0]).is_dir():
        return folder
    return None


@cache
def _hub_commit(name: str) -> str:
    """Commit of the newest revision: from the Hub, asked once, else the newest in the cache."""
    from httpx import HTTPError
    from huggingface_hub import HfApi, hf_hub_download

    try:
        return str(HfApi().model_info(name, timeout=HUB_SECONDS).sha)
    except (HTTPError, OSError, ValueError) as error:
        try:
            return Path(hf_hub_download(name, CONFIG, local_files_only=True)).parent.name
        except (OSError, ValueError):
            raise TablemendError(
                f"{name} is neither a folder nor a model that the Hugging Face Hub or its local "
                f"cache gives: {str(error).strip().splitlines()[0]}"
            ) from error
