"""The words for small numbers: zero to nineteen, the tens, first to twentieth."""

from __future__ import annotations

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
UP_TO_TWENTY = (*ONES, "twenty")
"""The place of a word is its number."""
ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
ONE_TO_TEN = "|".join(ONES[1:11])
"""A pattern."""
