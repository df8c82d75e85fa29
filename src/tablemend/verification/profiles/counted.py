"""How many values an attribute has: "more than two children", "married twice", "several labels"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.verification.lexicon import stem
from tablemend.verification.profiles.facts import Fact
from tablemend.verification.profiles.profile import Attribute, Profile, plain, stems
from tablemend.verification.profiles.quantities import BOUND, NUMBER, Bounded, read_bounded

_MANY = r"multiple|several|many|numerous|various|a few|a variety of|a number of|different"
_COUNT = re.compile(
    rf"\b(?:(?P<bound>{BOUND}) )?(?:(?P<number>{NUMBER})|(?P<many>{_MANY}))"
    r"(?: (?:different|other|separate|distinct|official|main|types? of|kinds? of|music(?:al)?"
    r"|record(?:ing)?|film|possible|known|associated|major|total|full))*"
    r" (?P<noun>[a-z]+(?:[ -][a-z]+)?)"
)
_NOUNS = {
    "label": ("label",),
    "genre": ("genre", "style"),
    "instrument": ("instrument",),
    "occupation": ("occupation", "profession", "job", "career"),
    "children": ("child", "children", "kid"),
    "spouse": ("spouse", "husband", "wife", "marriage"),
    "associated acts": ("associated acts", "act"),
    "member": ("member",),
    "award": ("award",),
    "symptom": ("symptom",),
    "treatment": ("treatment",),
    "cause": ("cause",),
    "complication": ("complication",),
    "risk factor": ("risk factor",),
    "produced by": ("producer",),
    "written by": ("writer",),
    "directed by": ("director",),
    "edited by": ("editor",),
    "music by": ("composer",),
    "starring": ("actor", "starring"),
    "distributed by": ("distributor",),
    "sibling": ("sibling",),
    "relative": ("relative",),
    "parent": ("parent",),
    "alma mater": ("university", "college", "school"),
    "studio": ("studio",),
    "website": ("website",),
}
"""Name of an attribute -> nouns that count its values."""
_COUNTED = {stems(name): nouns for name, nouns in _NOUNS.items()}
_MARRIED = re.compile(
    rf"\b(?P<how>married|divorced|remarried)(?: to)? (?:(?P<bound>{BOUND}) )?"
    rf"(?P<times>once|twice|(?P<number>{NUMBER}) (?:different )?(?:times?|people|women|men)"
    r"|multiple times|several times|many times)\b"
)
_PLURAL = re.compile(r"s\b|\bchildren\b|\bpeople\b|wives")
_SINGLE = ("one", "single", "a single", "1")
_TIMES = {"once": 1.0, "twice": 2.0}
_NEVER_MARRIED = re.compile(r"\b(?:(?:has|have|had|was|were) )?never (?:been )?(?:re)?married\b")
_DENIED = re.compile(r"\b(?:not|never|without|neither|nor)\b|n't\b")
_DIGITS = re.compile(r"\s*(\d{1,3}(?:,\d{3})*|\d+)(?![\d,.]*\d)")
_SPOUSES = re.compile(r"spouses?|husband|wife")
_DIVORCE = re.compile(r"\bdiv\b|\bdivorced|\bann(?:ulled)?\b", re.I)


class Counted:
    """Judges the counts of one info box.

    Args:
        profile: the info box.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._nouns: dict[tuple[str, ...], Attribute] = {}
        for attribute in profile.attributes:
            header = stems(attribute.header)
            if attribute.header.endswith("s"):
                self._nouns.setdefault(header, attribute)
            for noun in _COUNTED.get(header, ()):
                self._nouns.setdefault(stems(noun), attribute)

    def facts(self, said: str, start: int, end: int) -> Iterator[Fact]:
        """What a sentence says of numbers of values.

        Args:
            said: the text in small letters.
            start: where the sentence begins.
            end: where it ends.
        """
        yield from self._marriages(said, start, end)
        if _DENIED.search(said, start, end):
            return
        for match in _COUNT.finditer(said, start, end):
            found = self._counted(match)
            if found is None:
                continue
            attribute, last = found
            numbers = self._number(attribute)
            if numbers is None:
                continue
            low, high = min(numbers), max(numbers)
            if match["number"] == "no" and re.search(r"\bno(?:ne)?\b", plain(attribute.text)):
                continue
            if not _PLURAL.search(match["noun"]) and match["number"] not in _SINGLE:
                continue
            if match["many"]:
                bounded = Bounded(3.0 if match["many"] in ("many", "numerous") else 2.0, "least")
            else:
                read = read_bounded(match["bound"], match["number"])
                if read is None or match["number"] in ("a", "an"):
                    continue
                bounded = read
            truth = bounded.whole().holds(low, high)
            if truth is None and not bounded.bound and bounded.value in numbers:
                truth = True
            if truth is not None:
                used = ((match.start(), last),)
                yield self._fact(match.start(), last, truth, attribute, used)

    def _counted(self, match: re.Match[str]) -> tuple[Attribute, int] | None:
        """The attribute that a noun counts, and where the noun ends."""
        words = match["noun"].split(" ")
        for size in (2, 1):
            if len(words) < size:
                continue
            noun = tuple(stem(word) for word in words[:size])
            if noun in self._nouns:
                length = len(" ".join(words[:size]))
                return self._nouns[noun], match.start("noun") + length
        return None

    def _number(self, attribute: Attribute) -> range | None:
        """How many there are: the number that the cell begins with, else how many it lists."""
        if digits := _DIGITS.match(attribute.text):
            number = int(digits[1].replace(",", ""))
            return range(number, number + 1)
        if any(character.isdigit() for value in attribute.values for character in value):
            return None  # "50 states": no list of values
        if _SPOUSES.match(attribute.header):
            return range(len(attribute.values), len(attribute.values) + 1)
        return attribute.counts

    def _marriages(self, said: str, start: int, end: int) -> Iterator[Fact]:
        spouses = self.profile.find(_SPOUSES)
        if spouses is None:
            return
        number = len(spouses.values)
        divorces = len(_DIVORCE.findall(spouses.text))
        if never := _NEVER_MARRIED.search(said, start, end):
            if "remarried" not in never[0]:
                yield self._fact(*never.span(), False, spouses, (never.span(),))
            return
        if _DENIED.search(said, start, end):
            return
        for match in _MARRIED.finditer(said, start, end):
            own = divorces if match["how"] == "divorced" else number
            if match["how"] == "remarried":
                continue
            if match["number"]:
                bounded = read_bounded(match["bound"], match["number"])
            elif match["times"] in _TIMES:
                bounded = read_bounded(match["bound"], "one" if match["times"] == "once" else "two")
            else:
                bounded = Bounded(2.0, "least")
            if bounded is None:
                continue
            truth = bounded.whole().holds(own, own)
            if truth is not None:
                yield self._fact(*match.span(), truth, spouses, (match.span(),))

    def _fact(
        self,
        start: int,
        end: int,
        truth: bool,
        attribute: Attribute,
        used: tuple[tuple[int, int], ...],
    ) -> Fact:
        reason = f"the info box has {attribute.header}: {attribute.text}"
        return Fact(start, end, truth, reason, (attribute,), used, "NUM")
