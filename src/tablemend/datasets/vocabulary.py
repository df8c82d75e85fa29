"""Words and parts of words of a model's own vocabulary."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from tablemend.errors import TablemendError

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
    pieces: tuple[str, ...]


def read_vocabulary(folder: str) -> Vocabulary:
    """The vocabulary of the model in a folder.

    Raises:
        TablemendError: there is no ``tokenizer.json``, it cannot be read, or it has no words.
    """
    file = Path(folder) / "tokenizer.json"
    if not file.is_file():
        raise TablemendError(f"there is no {file}: name the folder of a model")
    try:
        tokens = Tokenizer.from_file(str(file)).get_vocab()
    except Exception as error:  # tokenizers raises nothing narrower
        raise TablemendError(f"{file} cannot be read: {error}") from error
    words = sorted(found[1] for token in tokens if (found := _WORD.fullmatch(token)))
    pieces = sorted(filter(_PIECE.fullmatch, tokens))
    if not words or not pieces:
        raise TablemendError(f"{file} has no words behind a space: name another model")
    return Vocabulary(tuple(words), tuple(pieces))
