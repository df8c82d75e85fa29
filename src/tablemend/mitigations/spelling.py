"""A value of the source in the spelling of the words that it replaces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

from tablemend.evidence.labels import read_cell, read_counted
from tablemend.values.numbers import ONES, TENS, Number, find_quantities, plain_digits, spelled_end
from tablemend.values.text import align
from tablemend.values.units import ONE

_MINUS = ("-", "\u2212")
_LARGEST_ERROR = Decimal("0.05")
_CONTEXT = Context(prec=60, rounding=ROUND_HALF_UP)
_DIGITS = re.compile(r"\d(?:[\d,' ]*\d)?(?:\.\d+)?|\.\d+")


def spell_alike(
    old: str,
    new: str,
    *,
    decline: bool = False,
    grouped: bool = True,
    scales: Sequence[Decimal] = (),
) -> str | None:
    """A value worded as other words are.

    Numbers keep the text's scale, currency, unit, decimals, thousands separators, and whether they
    stand in digits or words. Names are as the source writes them, with a
    capital where a sentence begins.

    Args:
        old: the words to replace.
        new: the value as the source has it.
        decline: whether words of decline stand before ("fell by"), so that a negative value is
            written without its sign.
        grouped: whether the text separates thousands in other numbers, where ``old`` is too short
            to tell.
        scales: what the source's headers and captions count the value in, where it is not known
            whether ``new`` is in the text's scale; the one that comes nearest to ``old`` is taken.

    Returns:
        The new words; ``None`` where the value cannot be worded so: a text in place of a number,
        another unit.
    """
    folded = align(old)
    stated = find_quantities(folded)
    if len(stated) == 1:
        value = read_counted(new).number
        if value is None:
            return None
        number, start, end = stated[0]
        if number.value < 0 and old[:start].endswith(_MINUS):
            start -= 1
        amount = _amount(number, value, scales, decline=decline)
        if amount is None:
            return None
        whole = not value.decimals
        inner = _spell_number(old[start:end], number, amount, grouped=grouped, whole=whole)
        return old[:start] + inner + old[end:]
    if stated or read_cell(new).number is not None:
        return None
    return _cased(old, new)


def _amount(
    number: Number, value: Number, scales: Sequence[Decimal], *, decline: bool
) -> Decimal | None:
    """A value in the scale of a stated number; ``None`` where their units do not go together."""
    if value.unit.symbol and number.unit.symbol and value.unit.symbol != number.unit.symbol:
        return None
    if value.unit.currency and number.unit.symbol:
        return None
    if value.unit.scale != ONE:
        amount = _CONTEXT.divide(value.value, number.unit.scale)
    else:
        factors = [ONE, *(_CONTEXT.divide(scale, number.unit.scale) for scale in scales)]
        stated = abs(_CONTEXT.divide(number.value, number.unit.scale))

        def tens_apart(factor: Decimal) -> Decimal:
            one = abs(value.value) * factor
            ratio = _CONTEXT.divide(one, stated) if one and stated else Decimal(1)
            return round(abs(ratio.log10()), 1)

        amount = value.value * min(factors, key=tens_apart)
    return -amount if amount < 0 < number.value and decline else amount


def _spell_number(old: str, number: Number, amount: Decimal, *, grouped: bool, whole: bool) -> str:
    """An amount in the form of a number, whose words are ``old`` and whose scale it has.

    ``whole``: the source has it without decimals.
    """
    negative = amount < 0
    size = abs(amount)
    digits = _DIGITS.search(old)
    if digits is None:
        said = plain_digits(amount)
        if not negative and size <= 99 and size == size.to_integral_value():
            ten, one = divmod(int(size), 10)
            words = (
                f"{TENS[ten - 2]}{f'-{ONES[one]}' if one else ''}" if ten > 1 else ONES[int(size)]
            )
            said = _cased(old, words)
        return said + old[spelled_end(align(old), 0) :]
    own = max(0, -int(size.normalize(_CONTEXT).as_tuple().exponent)) if size else 0
    decimals = number.decimals
    rounded = round(size, decimals)
    coarse = abs(rounded - size) > _LARGEST_ERROR * size
    if size and coarse and not (rounded and number.percent):
        decimals, rounded = own, size  # "4" for 0.48 cannot be "0"
    elif whole and own == 0 and not (number.unit.currency and decimals == 2):
        decimals = 0  # whole numbers have no tenths, but prices have cents
    separated = "," in digits[0] or (grouped and len(digits[0].partition(".")[0]) < 4)
    written = f"{rounded:{',' if separated else ''}.{decimals}f}"
    before, after = old[: digits.start()], old[digits.end() :]
    signed = next((mark for mark in _MINUS if mark in before), "")
    if signed and not negative:
        before = before.replace(signed, "", 1)
    elif negative and not signed:
        before = f"-{before}"
    return before + written + after


def _cased(old: str, new: str) -> str:
    """The new words with a capital where the old ones begin with one and these with none."""
    return new[0].upper() + new[1:] if new and old[:1].isupper() and new[0].islower() else new
