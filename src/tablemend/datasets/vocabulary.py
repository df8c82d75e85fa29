"""Words and parts of words of a model's own vocabulary."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tablemend.errors import TablemendError, install

_WORD = re.compile(r"[Ġ▁]([A-Z][a-z]+)")
"""Behind a space, as byte-level BPE and SentencePiece write it."""
_PIECE = re.compile(r"[a-z]{2,5}")


class Vocabulary(NamedTuple):
    """What is read of a tokenizer.

    Attributes:
        words: tokens that are a word with a capital.
        pieces: tokens of small letters that go on with a word.
    """

    words: tuple[str, ...]
    pieces: tuple[str, ...] = ()


def read_vocabulary(folder: str, setting: str) -> Vocabulary:
    """The vocabulary of the model in a folder.

    Args:
        folder: of the model.
        setting: that names it.

    Raises:
        TablemendError: there is no ``tokenizer.json``, it cannot be read, or it has no words.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise TablemendError(f"{setting}: needs the extra: {install('train')}") from error
    file = Path(folder) / "tokenizer.json"
    if not file.is_file():
        raise TablemendError(f"{setting}: there is no {file}: name the folder of a model")
    try:
        tokens = Tokenizer.from_file(str(file)).get_vocab()
    except Exception as error:  # tokenizers raises nothing narrower
        raise TablemendError(f"{setting}: {file} cannot be read: {error}") from error
    words = sorted(found[1] for token in tokens if (found := _WORD.fullmatch(token)))
    if not words:
        raise TablemendError(
            f"{setting}: {file} has no words behind a space: name another model, or leave it out"
        )
    return Vocabulary(tuple(words), tuple(sorted(filter(_PIECE.fullmatch, tokens))))
