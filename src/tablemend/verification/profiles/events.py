"""When what an info box dates happened, and the words that a text has for it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tablemend.verification.profiles.periods import Period, find_periods
from tablemend.verification.profiles.profile import Attribute, Profile


@dataclass(frozen=True, slots=True)
class Event:
    """Something that has a date.

    Attributes:
        kind: what it is: ``birth``, ``death``, ``career``, ...
        said: the words that a text has for it.
        start: when it was, or began.
        end: when it ended; the same for what takes no time; ``None`` where it goes on.
        others: further dates of it, as of a release in another country.
        attribute: where it stands.
    """

    kind: str
    said: re.Pattern[str]
    start: Period
    end: Period | None
    others: tuple[Period, ...]
    attribute: Attribute


_BEGAN = r"start(?:ed|s|ing)?|beg[au]n|beginning|formed|together"
_KINDS: tuple[tuple[str, str, str], ...] = (
    (
        "birth",
        r"(?:born|birth(?: ?date)?|date of birth|foaled|hatched)\b",
        r"born|birth(?:day|date)?",
    ),
    (
        "death",
        r"(?:died|death(?: ?date)?|date of death)\b",
        r"died|dies?|dying|death|passed away|deceased|passed",
    ),
    (
        "career",
        r"(?:years? active|active(?: years)?|career)\b",
        rf"active|career|perform(?:s|ed|ing)?|{_BEGAN}"
        r"|(?:been|was|were) (?:a musician|an act(?:or|ress)|acting|singing|making music)",
    ),
    (
        "release",
        r"(?:released?|release dates?|publication date|published|premiered?|first aired)\b",
        r"releas(?:e|ed|es|ing)|came out|published|premiered|debut(?:ed)?|aired|ran|publication",
    ),
    ("recording", r"recorded\b", r"recorded|recording"),
    ("opening", r"opened|opening(?: date)?$", r"open(?:ed|ing|s)?"),
    (
        "founding",
        r"(?:established|founded|formation|formed|inception|created|incorporated|settled|started"
        r"|year started|introduced|launched|inaugurated|first held|began|commenced|inaugural)\b",
        rf"established|founded|created|incorporated|introduced|launched|inaugurated|{_BEGAN}"
        r"|came into (?:existence|being)|existed|around",
    ),
    ("discovery", r"discover(?:y|ed)\b", r"discover(?:y|ed)"),
    ("building", r"(?:built|constructed|construction|completed)\b", r"built|constructed|completed"),
)


_SPOUSES = re.compile(r"spouse|husband|wife|married to")
_MARRIED = re.compile(r"\b(?:married|marriage|wed|wedding)\b")
_HAPPENED = re.compile(r"(?:date )?([a-z]{3,}(?:ed|ing))$")
"""An attribute that says what happened at its date: "Decommissioned"."""


def events_of(profile: Profile) -> tuple[Event, ...]:
    """Everything that an info box dates, one event of a kind.

    The words for a beginning are those of a career only where nothing was founded.
    """
    found: dict[str, Event] = {}
    spouses = profile.find(_SPOUSES)
    stated = profile.period(spouses) if spouses and len(spouses.values) == 1 else None
    if spouses and stated:  # of several marriages it is open which one a text means
        start, end = stated
        ended = None if end == start else end
        found["marriage"] = Event("marriage", _MARRIED, start, ended, (), spouses)
    for attribute in profile.attributes:
        for kind, header, said in _KINDS:
            if kind in found or not re.match(header, attribute.header):
                continue
            stated = profile.period(attribute)
            if stated is None:
                continue
            start, end = stated
            others = tuple(period for _, _, period in find_periods(attribute.text))
            if kind in ("birth", "death", "opening", "founding", "discovery"):
                end, others = start, ()
            pattern = re.compile(rf"\b(?:{said})\b")
            found[kind] = Event(kind, pattern, start, end, others, attribute)
            break
        else:
            match = _HAPPENED.match(attribute.header)
            stated = profile.period(attribute) if match else None
            if match and stated and stated[0] == stated[1]:
                when, pattern = stated[0], re.compile(rf"\b{match[1]}\b")
                found[match[1]] = Event(match[1], pattern, when, when, (), attribute)
    if "founding" in found and "career" in found:
        del found["founding"]
    return tuple(found.values())
