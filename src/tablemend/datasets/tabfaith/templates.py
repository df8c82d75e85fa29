"""The wording of summaries: templates by what they say, and the words that comparisons turn on.

Slots: ``{x}`` is the quantity ("the points of Lyon"), which :mod:`planner` spells out; ``{e}``
and ``{o}`` are entities, ``{m}`` a measure, ``{p}`` and ``{q}`` periods, ``{v}`` and ``{w}``
values, ``{d}`` a difference, ``{r}`` a percentage, ``{c}`` a cue, ``{n}`` and ``{N}`` counts,
``{t}`` a threshold, ``{k}`` a category. ``<when>`` is where a period may be added, ``<tail>`` a
value in addition, ``<at>`` one that no "with" can lead in, ``<rows>`` what rows are called,
``<row>`` one of them, ``<a>`` the article of ``{m}`` (such templates are for singulars), ``<was>``
and ``<that>`` agree with it, ``<were>`` with ``{e}``. Other verbs stand in the past tense, which
needs no agreement.
"""

from __future__ import annotations

QUANTITY: tuple[str, ...] = ("the {m} of {e}", "the {m} of {e}", "{e}'s {m}", "the {m} for {e}")
QUANTITY_OF_PERIOD: tuple[str, ...] = ("the {m}",)
QUANTITY_COUNTED: tuple[str, ...] = ("the number of {m} for {e}", "{e}'s number of {m}")
QUANTITY_COUNTED_OF_PERIOD: tuple[str, ...] = ("the number of {m}",)
QUANTITY_OF_ENTITY: tuple[str, ...] = ("{e}",)

VALUE: tuple[str, ...] = (
    "{x} came to {v}<when>.",
    "{x} stood at {v}<when>.",
    "{x} <was> {v}<when>.",
)
VALUE_OF_ENTITY: tuple[str, ...] = (
    "{e} showed <a> {m} of {v}<when>.",
    "{e} had <a> {m} of {v}<when>.",
    "{e} recorded <a> {m} of {v}<when>.",
    "For {e}, the {m} came to {v}<when>.",
)
COUNTED: tuple[str, ...] = (
    "{e} had {v} {m}<when>.",
    "{e} recorded {v} {m}<when>.",
    "{e} finished with {v} {m}<when>.",
    "There were {v} {m} for {e}<when>.",
)
OWNER: tuple[str, ...] = (
    "It was {e} that recorded {v} {m}<when>.",
    "It was {e} that had {v} {m}<when>.",
)
OWNER_OF_AMOUNT: tuple[str, ...] = (
    "It was {e} that had <a> {m} of {v}<when>.",
    "<A> {m} of {v} was recorded for {e}<when>.",
)
TEXT: tuple[str, ...] = (
    "The {m} of {e} <was> {v}<when>.",
    "For {e}, the {m} <was> {v}<when>.",
    "{e} was listed with {v} as the {m}<when>.",
    "{v} was the {m} of {e}<when>.",
)
TEXT_OF_PERIOD: tuple[str, ...] = ("The {m} <was> {v}<when>.", "{v} was given as the {m}<when>.")
TEXTS: tuple[str, ...] = (
    "The {m} of {e} were given as {v}<when>.",
    "{e} was listed with {v} under {m}<when>.",
)
DATE: tuple[str, ...] = (
    "The {m} given for {e} was {v}.",
    "For {e}, the {m} was {v}.",
    "{e} was listed with {v} as the {m}.",
)
EVENT: tuple[str, ...] = (
    "{e} was {m} {in} {v}.",
    "It was {in} {v} that {e} was {m}.",
    "{e}, according to the table, was {m} {in} {v}.",
)
LISTS: tuple[str, ...] = (
    "{e} had <list><when>.",
    "{e} was listed with <list><when>.",
    "{e} showed <list><when>.",
)
LISTS_ON: tuple[str, ...] = ("<it> also had <list><when>.", "<it> also showed <list><when>.")

COMPARE: tuple[str, ...] = (
    "{x} <was> {c} than <that> of {o}<when>.",
    "{x} ({v}) <was> {c} than <that> of {o} ({w})<when>.",
    "At {v}, {x} <was> {c} than <that> of {o}, which stood at {w}<when>.",
    "{e} had a {c} {m} than {o}<when>.",
    "{x} <was> {d} {c} than <that> of {o}<when>.",
)
COMPARE_COUNTED: tuple[str, ...] = (
    "{e} had {c} {m} than {o}<when>.",
    "{e} had {c} {m} than {o}<when>, {v} to {w}.",
    "{e} recorded {c} {m} ({v}) than {o} ({w})<when>.",
    "{e} had {d} {c} {m} than {o}<when>.",
)
COMPARE_ENTITIES: tuple[str, ...] = (
    "{e} was {c} than {o}<when>.",
    "{e} came out {c} than {o}<when>, at {v} against {w}.",
    "{e} was {d} {c} than {o}<when>.",
)
AGAINST: tuple[str, ...] = (
    "{x} came in {c} the {k}<when>.",
    "{x} came in {c} the {k}<when>, at {v} against {w}.",
    "At {v}, {x} came in {c} the {k} of {w}<when>.",
)
AGAINST_COUNTED: tuple[str, ...] = (
    "{e} had {c} {m} than {k}<when>.",
    "{e} had {c} {m} ({v}) than {k} ({w})<when>.",
)
SUPERLATIVE: tuple[str, ...] = (
    "{e} had {c} {m}<when><tail>.",
    "{e} recorded {c} {m}<when><tail>.",
    "{c} {m}<when> belonged to {e}<tail>.",
    "Among the {N} <rows>, {e} had {c} {m}<when><tail>.",
    "Of all <rows>, {e} showed {c} {m}<when><tail>.",
)
UNMATCHED: tuple[str, ...] = (
    "No other <row> had a {c} {m} than {e}<when>.",
    "No other <row> had a {c} {m} than {e} ({v})<when>.",
)
UNMATCHED_COUNTED: tuple[str, ...] = (
    "No other <row> had {c} {m} than {e}<when>.",
    "No other <row> had {c} {m} than {e}<when>, which had {v}.",
    "No other <row> had {c} {m} than {e} ({v})<when>.",
)
SUPERLATIVE_OF_ENTITY: tuple[str, ...] = (
    "{c} figure<when> was that of {e}<tail>.",
    "{e} had {c} figure<when><tail>.",
)
SUPERLATIVE_OF_PERIOD: tuple[str, ...] = (
    "{x} {c} {in} {p}<at>.",
    "{x} {c} {in} {p}<at>.",
    "{in} {p}, {x} {c}<at>.",
)
TAILS: tuple[str, ...] = (", at {v}", " ({v})", ", with {v}", "", "")
TAILS_AT: tuple[str, ...] = (", at {v}", " ({v})", "")
RANKED: tuple[str, ...] = (
    "{e} had {c} {m}<when><tail>.",
    "With {v}, {e} had {c} {m}<when>.",
    "{c} {m}<when> belonged to {e}<tail>.",
)
PLACED: tuple[str, ...] = ("{e} ranked {c} in {m}<when><tail>.", "{e} came {c} in {m}<when><tail>.")
CHANGE: tuple[str, ...] = (
    "{x} {c} from {v} {in} {p} to {w} {in} {q}.",
    "{x} {c} by {d} between {p} and {q}.",
    "{x} {c} by {r} between {p} and {q}.",
    "{x} {c} by {r} from {p} to {q}, reaching {w}.",
    "Between {p} and {q}, {x} {c} by {r}.",
    "Between {p} and {q}, {x} {c} from {v} to {w}.",
    "{x} {c} from {v} to {w} between {p} and {q}, a change of {r}.",
    "{x}, at {v} {in} {p}, {c} to {w} {in} {q}.",
)
TREND: tuple[str, ...] = (
    "{x} {c} from {p} to {q}.",
    "From {p} to {q}, {x} {c}.",
    "Between {p} and {q}, {x} {c}.",
)
COUNT: tuple[str, ...] = (
    "{n} of the {N} <rows> had <a> {m} of {c} {t}.",
    "For {n} of the {N} <rows>, the {m} <was> {c} {t}.",
    "{n} <rows> had <a> {m} of {c} {t}.",
)
COUNT_COUNTED: tuple[str, ...] = (
    "{n} of the {N} <rows> had {c} {t} {m}.",
    "{n} <rows> had {c} {t} {m}.",
)
COUNT_CATEGORY: tuple[str, ...] = (
    "{n} of the {N} <rows> had {k} as the {m}.",
    "{n} <rows> had {k} as the {m}.",
    "The {m} <was> {k} for {n} of the {N} <rows>.",
)
QUANTIFIED: tuple[str, ...] = ("{k} <rows> had <a> {m} of {c} {t}.",)
QUANTIFIED_MOST: tuple[str, ...] = (*QUANTIFIED, "For {k} <rows>, the {m} <was> {c} {t}.")
QUANTIFIED_COUNTED: tuple[str, ...] = ("{k} <rows> had {c} {t} {m}.",)
TOTAL: tuple[str, ...] = (
    "The {m} added up to {v} across all {N} <rows>.",
    "Taken together, the {N} <rows> had a total {m} of {v}.",
)
TOTAL_COUNTED: tuple[str, ...] = (
    "Together, the {N} <rows> had {v} {m}.",
    "In total, the {N} <rows> recorded {v} {m}.",
    "The {m} added up to {v} across all {N} <rows>.",
)
AVERAGE: tuple[str, ...] = (
    "The average {m} came to {v}.",
    "On average, the {m} came to {v} across the {N} <rows>.",
)
AVERAGE_COUNTED: tuple[str, ...] = (
    "On average, the {N} <rows> had {v} {m}.",
    "The {N} <rows> averaged {v} {m}.",
)
ORDER: tuple[str, ...] = (
    "The {m} of {e} ({v}) was {c} than that of {o} ({w}).",
    "{e} had {c} {m} than {o}.",
)
ORDER_OF_EVENTS: tuple[str, ...] = (
    "{e} was {m} {c} than {o}.",
    "{e} ({v}) was {m} {c} than {o} ({w}).",
)
FLAGGED = "flagged"
"""What stands for the label of a column of flags in the templates below."""
FLAG: tuple[str, ...] = (
    "{e} <were> {m} {v}<when>.",
    "The value for {e} was {m} {v}<when>.",
)
FLAGS: tuple[str, ...] = (
    "{n} of the {N} <rows> were {m} {k}.",
    "{n} <rows> were {m} {k}.",
)
RANGE: tuple[str, ...] = (
    "{x} <was> {c} the reference range<when>.",
    "At {v}, {x} <was> {c} the reference range<when>.",
    "{x} came to {v}<when>, {c} the reference range.",
)
CONNECTIVES: tuple[str, ...] = (
    "Meanwhile, ",
    "In addition, ",
    "Furthermore, ",
    "Moreover, ",
)

HIGHER: tuple[str, ...] = ("higher",)
LOWER: tuple[str, ...] = ("lower",)
LARGER: tuple[str, ...] = ("larger",)
SMALLER: tuple[str, ...] = ("smaller",)
GREATER: tuple[str, ...] = ("greater",)
LONGER: tuple[str, ...] = ("longer",)
SHORTER: tuple[str, ...] = ("shorter",)
MORE: tuple[str, ...] = ("more",)
FEWER: tuple[str, ...] = ("fewer",)
HIGHEST: tuple[str, ...] = ("the highest",)
LOWEST: tuple[str, ...] = ("the lowest",)
LARGEST: tuple[str, ...] = ("the largest",)
SMALLEST: tuple[str, ...] = ("the smallest",)
GREATEST: tuple[str, ...] = ("the greatest",)
LONGEST: tuple[str, ...] = ("the longest",)
SHORTEST: tuple[str, ...] = ("the shortest",)
MOST: tuple[str, ...] = ("the most", "the highest number of")
FEWEST: tuple[str, ...] = ("the fewest", "the lowest number of")
EARLIEST: tuple[str, ...] = ("the earliest",)
LATEST: tuple[str, ...] = ("the latest", "the most recent")
PEAKED: tuple[str, ...] = ("peaked", "was highest", "reached a high")
BOTTOMED: tuple[str, ...] = ("bottomed out", "was lowest", "hit a low")
ROSE: tuple[str, ...] = ("rose", "increased", "grew", "climbed", "went up")
FELL: tuple[str, ...] = ("fell", "decreased", "declined", "dropped", "went down")
EARLIER: tuple[str, ...] = ("earlier",)
LATER: tuple[str, ...] = ("later",)
AN_EARLIER: tuple[str, ...] = ("an earlier",)
A_LATER: tuple[str, ...] = ("a later",)
OVER: tuple[str, ...] = ("more than", "over", "at least")
UNDER: tuple[str, ...] = ("less than", "under", "at most")
OVER_COUNTED: tuple[str, ...] = ("more than", "at least", "over")
UNDER_COUNTED: tuple[str, ...] = ("fewer than", "at most", "under")
ORDINALS: tuple[str, ...] = ("first", "second", "third", "fourth", "fifth")
ABOVE: tuple[str, ...] = ("above",)
BELOW: tuple[str, ...] = ("below",)
EXPECTED = ("consensus", "target", "budget", "plan", "forecast", "estimate", "quota")
"""What a measure may be set against, by the last word of its header."""
EVERY: tuple[str, ...] = (
    "every {grain}",
    "each {grain}",
    "in every {grain}",
    "{grain} after {grain}",
)

ALL: tuple[str, ...] = ("all", "all of the", "each of the")
MOST_OF: tuple[str, ...] = ("most of the", "more than half of the", "the majority of the")
NONE: tuple[str, ...] = ("none of the",)
FEW: tuple[str, ...] = ("fewer than half of the", "less than half of the")

OPPOSITES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (HIGHER, LOWER),
    (LARGER, SMALLER),
    (GREATER, SMALLER),
    (LONGER, SHORTER),
    (MORE, FEWER),
    (HIGHEST, LOWEST),
    (LARGEST, SMALLEST),
    (GREATEST, SMALLEST),
    (LONGEST, SHORTEST),
    (MOST, FEWEST),
    (EARLIEST, LATEST),
    (PEAKED, BOTTOMED),
    (ROSE, FELL),
    (EARLIER, LATER),
    (AN_EARLIER, A_LATER),
    (OVER, UNDER),
    (OVER_COUNTED, UNDER_COUNTED),
    (ALL, NONE),
    (MOST_OF, FEW),
    (("above", "within"), ("below",)),
    (("below", "within"), ("above",)),
    (("above", "below"), ("within",)),
)
"""Cues that say the contrary of each other and stand in the same sentences."""
