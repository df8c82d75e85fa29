"""Names of a text that no table has."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tablemend.values.dates import WEEKDAYS
from tablemend.values.sentences import Span
from tablemend.verifier.indexing import Index
from tablemend.verifier.lexicon import LITTLE_WORDS, stem, terms
from tablemend.verifier.reading import Reading, Token

OPENERS = frozenset(
    "although however meanwhile despite after before during since both each all every many most "
    "some several one two three another other overall additionally moreover furthermore finally "
    "also first second third here there now then today yes no only even once because though unlike "
    "according among between following given like more over under until".split()
)
_UNIT_NAMES = frozenset(
    "celsius fahrenheit kelvin euro euros dollar dollars wi-fi bluetooth".split()
)
_ADJECTIVE = re.compile(r"(?:an|ese|ish|ic|ch|ek|ian|i|ss)$")


class UnknownNames:
    """Finds runs of capitalised words that are unknown to the tables.

    Args:
        reading: the text.
        index: the tables.
    """

    def __init__(self, reading: Reading, index: Index) -> None:
        self._text = reading.text
        self._index = index
        self._cased = any(character.isupper() for character in reading.text)

    def find(
        self, sentence: Span, tokens: Sequence[Token], taken: Sequence[tuple[int, int]]
    ) -> tuple[Span, ...]:
        """The unknown names of a sentence.

        Its first word is one only in a run of several ("Bradley Beal led ...").

        Args:
            sentence: its place.
            tokens: its words.
            taken: places of what is known: cells, headers, periods.
        """
        if not self._cased:
            return ()
        found = []
        for run in self._runs(tokens, sorted(taken)):
            if run[0].word in LITTLE_WORDS or run[0].word in OPENERS:
                run = run[1:]
            if run and run[0].start <= sentence.start + 1 and run[0].word.endswith("ing"):
                run = run[1:]  # "Comparing Norvik with ..."
            if not run:
                continue
            if len(run) == 1 and run[0].start <= sentence.start + 1:
                continue
            if all(map(self._is_known, run)) or self._is_no_name(run):
                continue
            found.append(Span(run[0].start, run[-1].end))
        return tuple(found)

    def _runs(self, tokens: Sequence[Token], taken: Sequence[tuple[int, int]]) -> list[list[Token]]:
        runs: list[list[Token]] = []
        for token in tokens:
            written = self._text[token.start : token.end]
            known = any(start <= token.start < end for start, end in taken)
            if known or not written[:1].isupper() or not written[:1].isalpha():
                continue
            if runs and not self._text[runs[-1][-1].end : token.start].strip(" .'-"):
                runs[-1].append(token)
            else:
                runs.append([token])
        return runs

    def _is_no_name(self, run: Sequence[Token]) -> bool:
        """Whether a capitalised word is no name: a unit, an abbreviation, an adjective.

        "20 EUR", "Celsius", "GPS", "UTC"; "a Greek player" says a country in another form.
        """
        if len(run) > 1:
            return self._text[run[0].start : run[-1].end].casefold() in _UNIT_NAMES
        token = run[0]
        written = self._text[token.start : token.end]
        if any(character.isdigit() for character in written) or len(written) < 2:
            return True
        if (written.isupper() and len(written) <= 5) or written[1:] != written[1:].lower():
            return True
        if token.word in _UNIT_NAMES or token.word.removesuffix("s") in WEEKDAYS:
            return True
        followed = re.match(r" [a-z]", self._text[token.end : token.end + 2])
        return bool(_ADJECTIVE.search(token.word) and followed)

    def _is_known(self, token: Token) -> bool:
        """Whether a word stands in a header, a caption or some cell."""
        word = stem(token.word)
        return (
            word in self._index.words
            or word in self._index.caption
            or any(term in self._index.header_terms for term in terms(token.word))
        )
