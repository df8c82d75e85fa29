"""Batch files: JSON lines that a user writes, each checked by a model of its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tablemend.config.nearest import nearest
from tablemend.errors import TablemendError
from tablemend.foreign import read_whole, whole_characters


class Fields(BaseModel):
    """The fields of a line."""

    model_config = ConfigDict(frozen=True, strict=True)


FieldsT = TypeVar("FieldsT", bound=Fields)


def read_batch(path: Path, model: type[FieldsT]) -> Iterator[tuple[int, FieldsT]]:
    """The lines of a file that are not blank, one at a time, with their numbers.

    Raises:
        TablemendError: the file cannot be read or holds nothing, or a line is not what is wanted;
            a field that is none of ours is refused too.
    """
    try:
        lines = StringIO(read_whole(path).decode("utf-8-sig"), newline=None)
    except OSError as error:
        raise TablemendError(f"cannot read the batch file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TablemendError(f"the batch file {path} is not UTF-8: {error.reason}") from error
    except ValueError as error:
        raise TablemendError(f"the batch file {path} holds {error}: divide it") from error
    any_line = False
    for number, line in enumerate(lines, 1):
        if line.strip():
            any_line = True
            yield number, _read_line(line, f"{path}, line {number}", model)
    if not any_line:
        raise TablemendError(f"the batch file {path} is empty")


def _read_line(line: str, place: str, model: type[FieldsT]) -> FieldsT:
    known = list(model.model_fields)
    try:
        data = json.loads(line.rstrip())
    except json.JSONDecodeError as error:
        raise TablemendError(f"{place}: not JSON ({error.msg}, column {error.colno})") from error
    except (RecursionError, ValueError) as error:
        raise TablemendError(f"{place}: JSON nested too deeply, or too long a number") from error
    if not isinstance(data, dict):
        raise TablemendError(f"{place}: wanted an object with {', '.join(known)}")
    if other := [name for name in data if name not in known]:
        close = nearest(other[0], [field for field in known if field not in data])
        said = close or f"; there are {', '.join(known)}"
        raise TablemendError(f"{place}: unknown field {other[0]!r}{said}")
    try:
        return model.model_validate(
            {n: whole_characters(own) if isinstance(own, str) else own for n, own in data.items()}
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = "".join(f"{part}: " for part in first["loc"])
        raise TablemendError(f"{place}: {field}{first['msg']}") from error
    except TablemendError as error:
        raise TablemendError(f"{place}: {error}") from error
