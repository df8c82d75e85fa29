"""Verifying claims as a task: the verifier's own prompt, verdicts scored, claims made and split."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tablemend.datasets.labelled_texts import split_of
from tablemend.datasets.splits import SPLITS, Shares
from tablemend.errors import NoTarget, TablemendError
from tablemend.evidence.source import Source
from tablemend.records import Claim, Document
from tablemend.tables.table import Table
from tablemend.tasks.claim_verification import (
    ClaimPrograms,
    Claims,
    ClaimVerification,
    LabelledClaim,
    make_claims,
)
from tablemend.tasks.tabfaith.data import Sizes, TabFaith, make_dataset
from tablemend.tasks.task import Submission
from tablemend.verifier.extraction import extract_claims
from tablemend.verifier.llm import LLMVerifier
from tablemend.verifier.program_by import ProgramByVerifier
from tablemend.verifier.verifiers import SHORT
from tests.support.faithfulness_models import CannedBackend

TABLE = Table.of(["Team", "Points"], [["Alba", "41"], ["Sella", "37"]], title="League 2019")
LONG = Table.of(TABLE.columns, TABLE.rows + (("Aro", "9"),) * (SHORT // 8))
SAMPLE = LabelledClaim("Alba won 40 points.", TABLE, "contradicted", "league", "40 should be 41")
TASK = ClaimVerification()


@pytest.mark.parametrize("table", [TABLE, LONG])
def test_the_prompt_is_the_one_that_the_verifier_asks_with(table: Table) -> None:
    backend = CannedBackend(lambda _: TASK.target(SAMPLE, "table", "off"))
    text = SAMPLE.claim
    document = Document(text, (Claim(text, 0, len(text), "numeric", text),))
    (((verdict,), _),) = LLMVerifier(backend).verify([(document, Source((table,)))])
    sample = LabelledClaim(text, table, "contradicted", "league")
    assert [list(TASK.messages(sample, "table", "base"))] == [
        list(request.messages) for request in backend.asked
    ]
    assert (verdict.verdict, verdict.reason) == ("contradicted", "40 should be 41")


@pytest.mark.parametrize(
    ("label", "answer", "found"),
    [
        ("contradicted", '{"reason": "", "verdict": "contradicted"}', []),
        ("contradicted", "<think>\n\n</think>\n\ncontradicted", []),
        ("contradicted", "supported", ["missed"]),
        ("not_in_source", "supported", ["missed"]),
        ("supported", "not_in_source", ["false_alarm"]),
        ("contradicted", "not_in_source", ["mixed_up"]),
        ("supported", "Who knows?", None),
    ],
)
def test_a_verdict_is_scored_against_the_label(
    label: str, answer: str, found: list[str] | None
) -> None:
    sample = LabelledClaim.from_json(SAMPLE.to_json() | {"label": label})
    with TASK.scorer() as scorer:
        (judgement,) = scorer.score([Submission(sample, "table", answer)])
    assert [finding.type for finding in judgement.findings] == (found or [])
    assert bool(judgement.unscored) == (found is None)
    assert judgement.share("accuracy") == (None if found is None else float(not found))
    reward = TASK.reward({}, "off", "base")
    assert reward.score(sample, "table", answer).reward == float(found == [])
    assert reward.score(sample, "table", reward.gold(sample, "table")).reward == 1


def test_claims_are_made_of_a_tabfaith_set_and_of_public_claims(tmp_path: Path) -> None:
    sizes = Sizes(general=0, financial=0, clinical=24, operations=0)
    shares = Shares(train=0.4, validation=0.3, test=0.3)
    said = tmp_path / "tabfaith"
    make_dataset(TabFaith(sizes=sizes, faithful=0.3, shares=shares, out=str(said)), lambda _: None)
    keys = {split_of(str(number)): str(number) for number in range(9)}
    records = [
        {
            "table_id": split,
            "caption": f"League {split}",
            "difficulty": "simple",
            "header": TABLE.columns,
            "rows": TABLE.rows,
            "statements": [{"text": SAMPLE.claim, "label": 0}],
            "split_key": key,
        }
        for split, key in keys.items()
    ]
    (tmp_path / "tabfact").mkdir()
    (tmp_path / "tabfact" / "open.jsonl").write_text("\n".join(map(json.dumps, records)))
    out = tmp_path / "claims"
    settings = Claims(
        tabfaith=str(said), data=str(tmp_path), sets=("tabfact",), shares=shares, out=str(out)
    )
    counts = make_claims(settings)
    assert make_claims(settings) == counts
    tables: dict[str, set[str]] = {}
    labels: Counter[str] = Counter()
    public = []
    for split in SPLITS:
        for line in (out / f"{split}.jsonl").read_text().splitlines():
            one = TASK.sample(json.loads(line))
            assert one.to_json() == json.loads(line)
            tables.setdefault(split, set()).add(one.source_hash)
            public += [one.table.title] if one.domain == "tabfact" else []
            labels[one.label] += one.domain != "tabfact"
    assert public == ["League dev"]  # nothing of the test split
    assert not any(tables[a] & tables[b] for a in SPLITS for b in SPLITS if a != b)
    assert set(labels) == {"supported", "contradicted", "not_in_source"}
    assert labels["supported"] == labels["contradicted"] > 8 and labels["not_in_source"] > 4
    with pytest.raises(TablemendError, match="no file"):
        make_claims(Claims(tabfaith=str(tmp_path / "none"), out=str(tmp_path / "other")))


PROGRAMS = ClaimPrograms()
TESTED = LabelledClaim(
    "Alba won 40 points, 4 more than Sella.",
    TABLE,
    "contradicted",
    "league",
    parts=('"40"', '"4"', '"more than"', '"Sella"'),
    programs=(
        'value("Points", "Alba") == 40',
        'value("Points", "Alba") - value("Points", "Sella") == 4',
        *('value("Points", "Alba") > value("Points", "Sella")',) * 2,
    ),
)


def test_the_prompt_of_programs_is_the_verifiers_and_the_target_is_read_by_it() -> None:
    backend = CannedBackend(lambda _: PROGRAMS.target(TESTED, "table", "off"))
    document = extract_claims(TESTED.claim)
    ((verdicts, _),) = ProgramByVerifier(backend).verify([(document, Source((TABLE,)))])
    assert [list(PROGRAMS.messages(TESTED, "table", "base"))] == [
        list(request.messages) for request in backend.asked
    ]
    assert [one.expected for one in verdicts if one.wrong] == [("41",)]
    assert LabelledClaim.from_json(json.loads(json.dumps(TESTED.to_json()))) == TESTED
    assert "programs" not in SAMPLE.to_json()  # as in sets that were made before
    with pytest.raises(NoTarget, match="no program is known"):
        PROGRAMS.target(SAMPLE, "table", "off")


@pytest.mark.parametrize(
    ("claim", "answer", "right"),
    [
        ("Alba won 40 points.", '1: value("Points", "Alba") == 40', True),
        ("Alba won 40 points.", '1: value("Points", "Alba") == 40 or count() == 2', False),
        ("Alba won 40 points.", '<think>\n\n</think>\n\nvalue("Points", "Alba") > 40', False),
        ("Alba won 40 points.", "Who knows?", None),
        ("Alba won 40 points.", 'value("Goals", "Alba") == 40', None),
    ],
)
def test_tests_are_executed_and_scored_against_the_label(
    claim: str, answer: str, right: bool | None
) -> None:
    sample = LabelledClaim(claim, TABLE, "contradicted", "league")
    with PROGRAMS.scorer() as scorer:
        (judgement,) = scorer.score([Submission(sample, "table", answer)])
    assert judgement.share("accuracy") == (None if right is None else float(right))
    assert bool(judgement.unscored) == (right is None)
    reward = PROGRAMS.reward({}, "off", "base")
    assert reward.score(sample, "table", answer).reward == float(right or False)
    assert reward.score(TESTED, "table", reward.gold(TESTED, "table")).reward == 1


def test_programs_are_made_of_sentences_and_decide_them_as_they_were_made(tmp_path: Path) -> None:
    sizes = Sizes(general=0, financial=8, clinical=3, operations=3)
    shares = Shares(train=0.4, validation=0.3, test=0.3)
    said, out = tmp_path / "tabfaith", tmp_path / "programs"
    make_dataset(TabFaith(sizes=sizes, faithful=0.3, shares=shares, out=str(said)), lambda _: None)
    settings = Claims(tabfaith=str(said), target="program", shares=shares, out=str(out))
    counts = make_claims(settings)
    assert make_claims(settings) == counts
    labels: Counter[tuple[str, bool]] = Counter()
    texts = []
    for split in SPLITS:
        for line in (out / f"{split}.jsonl").read_text().splitlines():
            sample = PROGRAMS.sample(json.loads(line))
            text = PROGRAMS.target(sample, "table", "off")
            assert PROGRAMS.judge(sample, text).share("accuracy") == 1
            assert len(sample.parts) == len(sample.programs) == len(text.splitlines())
            labels[sample.label, len(sample.parts) > 1] += 1
            texts.append(text)
    assert len(labels) == 4 and min(labels.values()) > 1
    assert sum(labels[label] for label in labels if label[0] == "supported") * 2 == labels.total()
    assert any("turned(" in text for text in texts)
    with pytest.raises(TablemendError, match=r"target"):
        make_claims(settings.model_copy(update={"target": "verdict"}))
