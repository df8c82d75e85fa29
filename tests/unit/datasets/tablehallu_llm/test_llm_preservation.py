"""Sentences that stand several times in a context: each is found at a place of its own."""

from __future__ import annotations

from tablemend.datasets.tablehallu_llm.parsing import KernelDraft
from tablemend.datasets.tablehallu_llm.preservation import check_adversarial, locate_facts
from tablemend.tables.table import Table

TABLE = Table.of(
    ["Mill", "Opened", "Wheels"],
    [["Arden", "1990", "4"], ["Bessel", "1990", "6"], ["Corrin", "1993", None]],
)
CONTEXT = (
    "The Arden mill has 4 wheels. It opened in 1990. The Bessel mill has 6 wheels. It opened in "
    "1990. The Corrin mill opened in 1993."
)
DRAFT = KernelDraft(TABLE, "Mill", "ascending", CONTEXT)
TEXT = (
    "The Tarn mill opened in 1950. The Bessel mill has 6 wheels. It opened in 1990. Farmers came "
    "from far away.\n\nThe Ulm mill opened in 1961. The Arden mill has 4 wheels. It opened in "
    "1990. It burnt down once.\n\nThe Corrin mill opened in 1993. The Vorn mill opened in 1912."
)


def test_equal_sentences_keep_to_what_they_are_about() -> None:
    assert "torn" not in " ".join(p.kind for p in check_adversarial(DRAFT, TEXT, 1.0))
    facts = {(fact.entity, fact.column): fact for fact in locate_facts(DRAFT, TEXT)}
    arden, bessel = facts["Arden", "Opened"], facts["Bessel", "Opened"]
    assert TEXT[arden.adversarial.start : arden.adversarial.end] == "1990"
    assert arden.adversarial.start > TEXT.index("Arden") > bessel.adversarial.start
    assert arden.clean is not None and bessel.clean is not None
    assert arden.clean.start < bessel.clean.start
