"""A Hub that notes what is sent to it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

TOKEN = "hf_secret_secret"


class FakeHub:
    """In the place of ``huggingface_hub.HfApi``; see the fixture ``fake``."""

    calls: ClassVar[list[tuple[str, dict[str, Any]]]] = []
    problem: ClassVar[Exception | None] = None

    def __init__(self, token: str) -> None:
        assert token == TOKEN

    def create_repo(self, repo_id: str, **options: Any) -> None:
        self.calls.append(("create_repo", {"repo_id": repo_id, **options}))

    def upload_folder(self, **options: Any) -> SimpleNamespace:
        if self.problem is not None:
            raise self.problem
        files = sorted(path.name for path in Path(options["folder_path"]).rglob("*"))
        self.calls.append(("upload_folder", {**options, "files": files}))
        return SimpleNamespace(repo_url=f"https://hub/{options['repo_id']}")
