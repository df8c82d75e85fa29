"""``scripted:FILE.jsonl``: answers read from a file, to rehearse a command without a model."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tablemend.backends.engine import Engine
from tablemend.backends.limits import estimate_prompt
from tablemend.backends.requests import Completion, Request
from tablemend.errors import TablemendError
from tablemend.foreign import read_whole
from tablemend.records import FinishReason
from tablemend.values.text import count_tokens


class Line(BaseModel):
    """One line of the file: the answer to every request whose messages hold ``contains``."""

    model_config = ConfigDict(extra="forbid")

    text: str
    contains: str = ""
    finish_reason: FinishReason = "stop"


class ReplayEngine(Engine):
    """Answers every request with the first line that fits it; token counts are estimates.

    Args:
        path: a file of JSON lines, see :class:`Line`.

    Raises:
        TablemendError: the file cannot be read, a line is not such an object, or there is none.
    """

    def __init__(self, path: Path) -> None:
        try:
            content = read_whole(path.expanduser(), 2**30)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise TablemendError(f"scripted:{path}: {why}: name a file") from error
        lines = enumerate(content.splitlines(), 1)
        self._path = path
        self._lines = [_read(line, f"{path}:{number}") for number, line in lines if line.strip()]
        if not self._lines:
            raise TablemendError(f"scripted:{path}: the file is empty")
        self._hash = sha256(content).hexdigest()

    @property
    def identity(self) -> dict[str, Any]:
        """The file's content."""
        return {"engine": "scripted", "file": self._hash}

    async def answer(self, request: Request) -> Completion:
        """See :class:`Engine`."""
        messages = "\n".join(turn["content"] for turn in request.messages)
        found = next((line for line in self._lines if line.contains in messages), None)
        if found is None or found.finish_reason == "error":
            why = found.text if found else f"no line of {self._path} answers this request"
            return Completion.failed(request.id, why)
        prompt, answer = estimate_prompt(request), count_tokens(found.text)
        reason = found.finish_reason
        return Completion(request.id, found.text, prompt, answer, reason, estimated=True)


def _read(line: bytes, where: str) -> Line:
    try:
        return Line.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise TablemendError(
            f"{where}: {key or 'line'}: {first['msg']}; write "
            '{"text": ANSWER, "contains": TEXT OF THE PROMPT, "finish_reason": "stop"}'
        ) from error
