"""Words of a sentence that an info box explains: names, attributes and their values."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from tablemend.verification.lexicon import LITTLE_WORDS, stem
from tablemend.verification.profiles.facts import Fact
from tablemend.verification.profiles.profile import Attribute, Profile, stems
from tablemend.verification.reading import Token

_IS = re.compile(
    r"(?:occupation|type|genres?|nationality|citizenship|species|breed|sex|gender|instruments?"
    r"|profession|known for|category|specialty|class|ethnicity|occupation type|style|course)\b"
)
"""Attributes whose values are said of the thing itself: "is an English actor"."""
_CUES: dict[str, str] = {
    "residence": "live reside home residence",
    "alma mater": "attend graduate study alma mater university college school educate education",
    "education": "attend graduate study university college school educate education degree",
    "spouse": "marry married husband wife spouse marriage",
    "partner": "partner relationship date",
    "children": "child son daughter father mother parent",
    "parent": "parent father mother son daughter child",
    "relative": "relative related relation sibling brother sister",
    "label": "sign record label release under",
    "genre": "genre play perform music make style band musician singer",
    "instrument": "play instrument musician",
    "origin": "origin from come formed originate hail start",
    "born": "born birth birthplace",
    "died": "die death dead",
    "website": "website site online web",
    "produced by": "produce producer",
    "producer": "produce",
    "directed by": "direct director",
    "written by": "write writer written",
    "music by": "music compose composer score",
    "starring": "star feature actor act cast play",
    "edited by": "edit editor",
    "distributed by": "distribute distributor release",
    "cinematography": "cinematographer cinematography film",
    "language": "language speak spoken",
    "official language": "language speak spoken official",
    "country": "country",
    "location": "locate location lie",
    "locale": "locate location",
    "owner": "own owner",
    "operator": "operate operator run",
    "manufacturer": "manufacture make manufacturer produce",
    "developer": "develop developer make",
    "publisher": "publish publisher",
    "designer": "design designer",
    "architect": "design architect",
    "associated acts": "associate act work perform",
    "award": "award win won receive",
    "symptom": "symptom",
    "cause": "cause",
    "treatment": "treat treatment treatable",
    "medication": "medication treat treatment medicine drug",
    "complication": "complication lead cause",
    "prevention": "prevent prevention",
    "risk factor": "risk factor",
    "diagnostic method": "diagnose diagnosis diagnostic",
    "specialty": "specialty field",
    "crosses": "cross span",
    "carries": "carry",
    "main ingredient": "ingredient make contain",
    "president": "president",
    "capital": "capital",
    "observed by": "observe celebrate",
    "also called": "call know also",
    "also known as": "know call also",
    "other name": "know call also name",
    "birth name": "born birth name real",
}
"""Beginning of an attribute's name -> verbs and nouns by which a text speaks of it."""
_STEMMED = tuple((stems(name), words) for name, words in _CUES.items())
_FREE = frozenset(
    "also originally be become have include use well person people thing name call know state city "
    "town life".split()
)
_OF_A_TIME = frozenset(
    "start started began begun begin become became since acting time take took place occur "
    "occurred spanned across span last lasted during lifetime period".split()
)
_ACTIVE = re.compile(r"years? active|genres?$|active")
_USUAL = frozenset("always usually often never mostly mainly most only first all every".split())
_OF_A_CAREER = frozenset(
    "music musician band group artist performer entertainer entertainment career profession "
    "professional professionally scene industry business play perform".split()
)


class Told(NamedTuple):
    """What an info box explains of a sentence.

    Attributes:
        attributes: those whose values are said where the sentence speaks of them.
        places: the first and the last character of those values.
        loose: whether a value is said and it is open of what attribute.
        open: words that nothing explains.
    """

    attributes: tuple[Attribute, ...]
    places: tuple[tuple[int, int], ...]
    loose: bool
    open: tuple[Token, ...]


class Vocabulary:
    """The words of one info box.

    Args:
        profile: the info box.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._values: dict[str, list[int]] = defaultdict(list)
        self._cues: list[frozenset[str]] = []
        for number, attribute in enumerate(profile.attributes):
            header = stems(attribute.header)
            own = {form for word in header for form in _forms(word)}
            for key, words in _STEMMED:
                if header[: len(key)] == key:
                    own |= {form for word in words.split() for form in _forms(word)}
            self._cues.append(frozenset(own))
            for word in set(stems(attribute.text)):
                self._values[word].append(number)

    def told(self, tokens: tuple[Token, ...], facts: Sequence[Fact]) -> Told:
        """What the tokens of a sentence say, less the places that facts explain.

        Args:
            tokens: of the sentence.
            facts: what is found of times and counts.

        A value counts where its attribute is spoken of, or is one that is said of the thing itself.
        """
        used = [place for fact in facts for place in fact.used]
        active = any(_ACTIVE.match(a.header) for a in self.profile.attributes)
        known = self.profile.names | _FREE | (_OF_A_CAREER if active else frozenset())
        if any(fact.error == "TMP" for fact in facts):
            known |= _OF_A_TIME
        free = [
            token
            for token in tokens
            if token.word not in LITTLE_WORDS
            and not any(start < token.end and token.start < end for start, end in used)
        ]
        said = {stem(token.word) for token in tokens}
        spelled = {token.word for token in tokens}
        cued = {
            number
            for number, own in enumerate(self._cues)
            if own & said or own & spelled or _IS.match(self.profile.attributes[number].header)
        }
        cue_words = {word for number in cued for word in self._cues[number]}
        attributes, places, loose, left = [], [], False, []
        for token in free:
            word = stem(token.word)
            if token.word in _USUAL:
                left.append(token)
                continue
            if word in known or token.word in known:
                continue
            numbers = self._values.get(word, [])
            meant = [number for number in numbers if number in cued]
            if meant:
                attributes += [self.profile.attributes[number] for number in meant]
                places.append((token.start, token.end))
            elif numbers:
                loose = True
            elif word not in cue_words and token.word not in cue_words:
                left.append(token)
        return Told(tuple(dict.fromkeys(attributes)), tuple(places), loose, tuple(left))


def _forms(word: str) -> tuple[str, ...]:
    """A word and its inflected forms, in the spelling of texts and in stems."""
    base = word.removesuffix("e")
    forms = (word, f"{word}s", f"{base}ed", f"{base}ing", f"{base}er", f"{base}ers")
    return (*forms, *map(stem, forms))
