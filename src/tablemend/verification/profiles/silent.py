"""What no info box can say: that something is always so, the only one, the best, or liked.

An info box lists attributes with their values. A sentence that says more of them than their values
(how often, for whom alone, how well, why) says what is not in the source; so does one that tells of
an attribute that everybody has a word for, and that this info box has not.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tablemend.verification.profiles.profile import Profile, stems

_COUNT = (
    r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d[\d,.]*|single|once|twice|a few)\b"
)
_BEYOND = re.compile(
    rf"\b(?:always|whole|entire(?:ly)?|still|throughout|never"
    rf"|only(?! (?:been |had |has |have |for |in |at |on |[a-z]+ed )*{_COUNT})|all(?! of\b)"
    rf"|most(?!ly)(?! \d)|popular(?:ity)?|success(?:ful)?|influential|greatest|best(?![- ]known)"
    rf"|better|worst|worse|easy|easily|difficult(?:y)?|hard|dangerous|safe(?:ly|st)?|memorable"
    rf"|favou?rites?|talented|beautiful(?:ly)?|good|bad|great|effective|prefer(?:s|red)?"
    rf"|enjoy(?:s|ed|able)?|loves?|loved|likes|liked|hates?|hated|famous|interesting|boring"
    rf"|important|acclaimed|prais(?:e|ed)|well[- ]received|because|due to|inspired|despite"
    rf"|(?:larg|bigg|small|old|young|long|short|fast|high|low|tall|rich|busi|earli|new|strong|wid)est"
    rf"|friends?|met|fought|collaborat(?:ed?|es|ion)|hired|fired)\b"
)
_ABSENT: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (re.compile(rf"\b(?:{said})\b"), re.compile(rf"\b(?:{header})"))
    for said, header in (
        (r"awards?|prizes?|award-winning|grammys?|oscars?", r"award|honou?r|prize|medal|accolade"),
        (
            r"child(?:ren)?|kids?|sons?|daughters?|childless",
            r"child|issue|offspring|family|relative|parent|mother|father|spouse|kid",
        ),
        (
            r"married|marriages?|wife|wives|husbands?|divorced?|wedding",
            r"spouse|partner|husband|wife|family|married|marriage|relative|consort",
        ),
        (r"sold|sales|best-selling|copies", r"sales|sold|units|sell|shipped|circulation|title"),
        (
            r"expensive|cheap(?:er|est)?|profit(?:s|able)?|salary|wealthy|rich|paid|earns?|earned",
            r"budget|box office|revenue|price|fee|worth|cost|salary|income|gdp|toll|profit|earning",
        ),
        (r"tours?|toured|touring|concerts?", r"tour|concert|event"),
    )
)
"""What a text says -> what the name of the attribute would begin with."""


class Silence(NamedTuple):
    """Words that the info box is silent about, and why.

    Attributes:
        start, end: their place.
        reason: one line for a person.
    """

    start: int
    end: int
    reason: str


def find_silence(profile: Profile, said: str, start: int, end: int) -> Silence | None:
    """The first words of a sentence that say what the info box cannot.

    Args:
        profile: the info box.
        said: the text in small letters.
        start: where the sentence begins.
        end: where it ends.
    """
    for match in _BEYOND.finditer(said, start, end):
        if not any(map(profile.has, stems(match[0]) or (match[0],))):
            return Silence(*match.span(), f'no attribute says "{match[0]}"')
    for words, header in _ABSENT:
        found = words.search(said, start, end)
        if found is None or any(header.search(a.header) for a in profile.attributes):
            continue
        if not any(map(profile.has, stems(found[0]))):
            return Silence(*found.span(), f'no attribute tells of "{found[0]}"')
    return None
