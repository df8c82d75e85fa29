"""How a value of a table is worded in place of the words of a text."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tablemend.mitigations.spelling import spell_alike


@pytest.mark.parametrize(
    ("old", "new", "worded"),
    [
        ("17%", "12.4%", "12%"),
        ("17.2%", "12.4", "12.4%"),
        ("$1,452.40", "998.5", "$998.50"),
        ("460,000", "$341K", "341,000"),
        ("$460,000", "$341K", "$341,000"),
        ("$1.2 million", "900", "$900 million"),
        ("$1.2 million", "$0.9 million", "$0.9 million"),
        ("eight", "2", "two"),
        ("Eight", "2", "Two"),
        ("twelve", "41", "forty-one"),
        ("eight", "1,204", "1204"),
        ("4", "0.48", "0.48"),
        ("-3.5", "2.1", "2.1"),
        ("(3.5)", "2.1", "(2.1)"),
        ("3.5", "-2.1", "-2.1"),
        ("900", "1200", "1,200"),
        ("1900", "1200", "1200"),
        ("2019", "2021", "2021"),
        ("Lions", "Bears", "Bears"),
        ("Lions", "bears", "Bears"),
        ("51 days", "38", "38 days"),
        ("-$21 million", "-$39 million", "-$39 million"),
        ("-0.020", "-0.028", "-0.028"),
        ("$1.5", "2", "$2"),
        ("$1.50", "2", "$2.00"),
        ("1.5", "2", "2"),
        ("25.6", "16.0", "16.0"),
        ("95", "85 mg/dL", "85"),
        ("197", "94 fL", "94"),
        ("3%", "1.4%", "1%"),
        ("3%", "0.4%", "0.4%"),
    ],
)
def test_values_are_worded_as_the_words_they_replace(old: str, new: str, worded: str) -> None:
    assert spell_alike(old, new) == worded


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("17", "Bears"),
        ("Lions", "38"),
        ("5 km", "3 kg"),
        ("3 to 5", "4"),
    ],
)
def test_what_cannot_be_worded_is_refused(old: str, new: str) -> None:
    assert spell_alike(old, new) is None


def test_a_value_without_a_scale_is_taken_in_the_nearest() -> None:
    million, thousand = Decimal(10**6), Decimal(1000)
    assert spell_alike("$41.5 million", "5.93e+07", scales=(Decimal(1),)) == "$59.3 million"
    assert spell_alike("$23.4 million", "25193.3", scales=(thousand,)) == "$25.2 million"
    assert spell_alike("$23.4 million", "25.1", scales=(million,)) == "$25.1 million"


def test_a_fall_is_written_without_its_sign_and_digits_as_the_text_groups_them() -> None:
    assert spell_alike("3.5%", "-2.1", decline=True) == "2.1%"
    assert spell_alike("900", "1200", grouped=False) == "1200"
