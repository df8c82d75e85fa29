"""Which word of an English clause is its finite verb, without a grammar.

A clause is only divided where this is sure, so a word that is a noun as often as a verb
("records", "wins") counts only where an object follows it.
"""

from __future__ import annotations

from tablemend.claims.tokens import Token
from tablemend.values.number_words import ONES, TENS

AUXILIARIES = frozenset(
    "is are was were be am has have had does do did will would can could may might must "
    "shall should isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't "
    "won't wouldn't can't cannot couldn't 're 've 'll".split()
)
_PAST = frozenset(
    "ate became began bought broke brought built came caught chose did drank drew drove "
    "fell felt flew fought gave got grew heard held kept knew laid led lent lost made "
    "meant met overcame paid ran rode rose sank sang sat saw sent sold sought spent spoke "
    "stole stood struck swam swept swung taught threw told took underwent understood went "
    "withdrew woke won wore wrote".split()
)
_SURE = frozenset(
    "achieve add allow announce appear attend attract become begin belong boast capture "
    "come compete comprise consist contain contribute continue deliver demonstrate earn "
    "employ enable ensure exceed exist give go include incorporate indicate introduce "
    "join lack lie lose make obtain occur offer operate outperform own participate "
    "perform possess produce provide receive remain represent require secure see serve "
    "span sport stay struggle suggest supply surpass take tally trail underperform "
    "utilize weigh win write yield defeat follow keep leave sell spend pay seem tend "
    "agree describe compare depend choose enjoy suffer refer relate".split()
)
_DOUBTFUL = frozenset(
    "account average beat block cause change cost cover cut decline decrease direct down "
    "draw drive drop end end experience face fall feature finish force found gain grab "
    "head hit hold host improve increase land last lead left live let love lower measure "
    "need note place play plan post press put rank range rate reach read record release "
    "report result return rise run score select set share shoot shot show sign stand star "
    "start state support total touch trade turn use value view want work outscore top "
    "claim launch dish net pull run open close".split()
)
_DETERMINERS = frozenset(
    "a an the his her its their our my your no all both each every some any this that "
    "these those it them him us only just around about approximately nearly almost up out "
    "down back off over".split()
)
# "runs on Android", "ranges from 2 to 5": nouns are seldom followed so.
_WITH_PREPOSITION = frozenset(
    "runs ranges plays ranks leads stands works stars falls rises drops starts ends "
    "finishes peaks lasts leans comes goes".split()
)
_LINKING = frozenset("on from for in to at by with between as".split())
_FUNCTION = _DETERMINERS | frozenset(
    "in on at by with from for of to into onto as than about around approximately between "
    "during after before until since within without through throughout against among across "
    "under above below behind near and or but , . ; ) ( : not also well more most less very".split()
)
_NUMBER_WORDS = frozenset((*ONES[1:], *TENS))
_NOT_PAST = frozenset(
    "need seed feed speed breed bed red shed hundred indeed exceed succeed proceed "
    "limited united unlimited mixed assorted detailed advanced wired related".split()
)
_PRONOUNS = frozenset("he she it they that there who which what here".split())
ADVERBS = frozenset(
    "also then not never only just still now even thus hence therefore subsequently later "
    "finally then eventually again currently previously already always often both "
    "respectively comfortably narrowly".split()
)


def is_verb(tokens: list[Token], place: int) -> bool:
    """Whether a token is surely a finite verb of its clause."""
    token = tokens[place]
    word = token.word
    if word in AUXILIARIES:
        return True
    if word == "'s":
        return place > 0 and tokens[place - 1].word in _PRONOUNS
    if token.capital or not word.isalpha():
        return False
    if word in _PAST:
        return True
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    if word.endswith("ed") and len(word) > 4 and word not in _NOT_PAST:
        return following is None or following.word in _FUNCTION or _object(following)
    if place and tokens[place - 1].word in _PRONOUNS and (word in _DOUBTFUL or word[-1] == "s"):
        return True
    if word in _WITH_PREPOSITION:
        return following is not None and (
            following.word in _LINKING or following.word in _DETERMINERS or _object(following)
        )
    stems = (word, word.removesuffix("s"), word.removesuffix("es"), f"{word.removesuffix('ies')}y")
    if any(stem in _DOUBTFUL for stem in stems):
        return following is not None and (following.word in _DETERMINERS or _object(following))
    return any(stem in _SURE for stem in stems)


def _object(token: Token) -> bool:
    """Whether a token begins the object of a verb: a number or a name."""
    return token.capital or token.word[0].isdigit() or token.word in _NUMBER_WORDS


def is_participle(word: str) -> bool:
    """Whether a word after a comma can go on with a clause: "making it two in a row"."""
    return (
        word.endswith("ing")
        and len(word) > 5
        and word
        not in (
            "including during following according regarding concerning morning evening nothing "
            "something anything everything building excluding spring string meeting".split()
        )
    )
