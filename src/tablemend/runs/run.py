"""The run folder: the resolved configuration and the manifest of every stage."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from tablemend.config import Recipe, Section, to_yaml
from tablemend.errors import TablemendError
from tablemend.runs.files import LOCK, read_object, write_json, write_text
from tablemend.runs.store import differences

RUNS = Path("runs")
ANEW = "give run=NAME for a new run, or overwrite=true to start this one anew"
MOVE_AWAY = "move it away, and the same command writes a new one; the rest of the run is kept"
PACKAGES = """accelerate bitsandbytes datasets deepspeed flash-attn kernels numpy peft
    sentence-transformers tablemend tokenizers torch transformers trl vllm""".split()


def say(text: str) -> None:
    """What a command is doing, on stderr; of several processes one says it."""
    if os.environ.get("RANK", "0") == "0":
        print(text, file=sys.stderr, flush=True)


def folder_of(run: str) -> Path:
    """The folder of a run: a path where there is a slash, else a name below ``runs/``."""
    return Path(run) if "/" in run else RUNS / run


@dataclass(frozen=True)
class Run:
    """The folder that one recipe's commands write into."""

    path: Path

    @classmethod
    def of(cls, recipe: Recipe) -> Run:
        """The folder a recipe names: ``run``, else ``runs/<name>``."""
        return cls(folder_of(recipe.run or recipe.name))

    @property
    def model(self) -> Path:
        """Folder of the finished fine-tuned checkpoint (the system ``model: sft``)."""
        return self.path / "model"

    @property
    def manifest(self) -> Path:
        """File with what every stage of the run has recorded."""
        return self.path / "manifest.json"

    def begin(
        self,
        stage: str,
        config: Section,
        parts: Sequence[str],
        mend: str = ANEW,
        free: Collection[str] = (),
    ) -> list[str]:
        """Note the resolved configuration of a stage, or check it against the noted one.

        Args:
            stage: name of the command, such as ``sft``.
            config: the resolved configuration; written to ``<stage>.yaml``.
            parts: dotted keys that must not change between two calls of the same stage.
            mend: what to do where they have.
            free: those below ``parts`` that may change all the same.

        Returns:
            The changes of ``free``, a line for each.

        Raises:
            TablemendError: the folder holds the same stage with other settings.
        """
        self._keep_private()
        changes = self.refuse_settings(stage, config, parts, mend, free)
        write_text(self.path / f"{stage}.yaml", to_yaml(config))
        return changes

    def refuse_settings(
        self,
        stage: str,
        config: Section,
        parts: Sequence[str],
        mend: str = ANEW,
        free: Collection[str] = (),
    ) -> list[str]:
        """Check a configuration against the noted one, if there is one; nothing is written.

        Takes, returns and raises what :meth:`begin` does.
        """
        path = self.path / f"{stage}.yaml"
        if not path.exists():
            return []
        try:
            old = yaml.safe_load(path.read_text("utf-8"))
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise TablemendError(f"{path} cannot be read: {MOVE_AWAY}") from error
        new = yaml.safe_load(to_yaml(config))
        changes: list[str] = []
        for part in parts:
            before, after = _select(old, part), _select(new, part)
            if before is None and part in LATER:
                before = LATER[part]
            changes += differences(before, after, part)
        allowed = [line for line in changes if line.partition(" was ")[0] in free]
        if refused := [line for line in changes if line not in allowed]:
            raise TablemendError(
                f"{self.path} was started with other settings: {'; '.join(refused)}: {mend}"
            )
        return allowed

    def refuse_changes(self, stage: str, facts: Mapping[str, Any], mend: str = ANEW) -> None:
        """Refuse to go on with, or to take for finished, what began with other weights or data.

        Raises:
            TablemendError: a fact that the manifest holds otherwise.
        """
        noted = self.recorded(stage)
        for name, value in facts.items():
            if noted.get(name, value) != value:
                raise TablemendError(
                    f"{self.path} was started with another {name}: data or weights have changed "
                    f"since; {mend}"
                )

    def _keep_private(self) -> None:
        """Prompts and answers are nobody else's; a folder of something else keeps its mode."""
        self.path.mkdir(parents=True, exist_ok=True)
        held = {path.name for path in self.path.iterdir()} - {LOCK}
        if not held or self.manifest.name in held:
            with suppress(OSError):  # another user's, or a disk without modes
                self.path.chmod(self.path.stat().st_mode & 0o700)

    def record(self, stage: str, facts: Mapping[str, Any]) -> None:
        """Put a stage's facts into the manifest, beside those of the other stages."""
        write_json(self.manifest, {**self._stages(), stage: {**surroundings(), **facts}})

    def recorded(self, stage: str) -> dict[str, Any]:
        """What the manifest says of a stage; empty where it says nothing.

        Raises:
            TablemendError: the manifest is no such file any more.
        """
        return dict(self._stages().get(stage, {}))

    def _stages(self) -> dict[str, dict[str, Any]]:
        if not self.manifest.exists():
            return {}
        stages = read_object(self.manifest, MOVE_AWAY)
        if not all(isinstance(stage, dict) for stage in stages.values()):
            raise TablemendError(f"{self.manifest} does not list stages: {MOVE_AWAY}")
        return stages


LATER = {
    "task": "table_generation",
    "evaluation.verifier": "program",
    "evaluation.extractor": "program",
}
"""What runs of before there were these settings had in their place."""


def _select(data: Any, part: str) -> Any:
    for name in part.split("."):
        data = data.get(name) if isinstance(data, dict) else None
    return data


def surroundings() -> dict[str, Any]:
    """What the result may depend on beside the recipe: code, packages, machine, command."""
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "HEAD"),
        "dirty": None if changes is None else bool(changes),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "world_size": int(os.environ.get("WORLD_SIZE", "1")),
    }


@cache
def _git(*arguments: str) -> str | None:
    """Output of git for the code that is running; ``None`` outside a repository."""
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
