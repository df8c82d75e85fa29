"""Examples of the program in a model's words: what changes a fact is caught."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from random import Random

import pytest

from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.config import parse
from tablemend.datasets.tablehallu.compose import Sentence
from tablemend.datasets.tablehallu.engine import examples
from tablemend.datasets.tablehallu.settings import Synthesis
from tablemend.datasets.tablehallu.verification import verify
from tablemend.datasets.tablehallu_llm import rewording as words
from tablemend.datasets.tablehallu_llm.asking import Asked, GivenUp, Talk
from tablemend.datasets.tablehallu_llm.paraphrase import Paraphrased, paraphrase_example
from tablemend.datasets.tablehallu_llm.rewording import Rewording, Told
from tablemend.datasets.tablehallu_llm.schemas import SCHEMAS
from tablemend.datasets.tablehallu_llm.settings import Paraphrase
from tablemend.prompting.replies import Problem
from tablemend.records import Example, Fact, Mention
from tests.support.prompts import recognise

ENDINGS = (", as the register has it.", ", by the record.", ", going by the file.")


@lru_cache
def stream() -> tuple[Example, ...]:
    tokens = ["source=pool", "n=30", "seed=21", "shape.min_rows=5", "difficulty=easy"]
    return tuple(examples(parse(Synthesis, tokens)))


def told_of(example: Example) -> list[Told]:
    found: dict[tuple[int, int], list[int]] = {}
    for index, fact in enumerate(example.facts):
        found.setdefault(fact.adversarial[2:], []).append(index)
    return [
        Told(example.adversarial_context[a:b], example.facts[facts[0]].entity, tuple(facts))
        for (a, b), facts in found.items()
    ]


def reword(sentence: str, rng: Random) -> str:
    """A faithful rewording."""
    if sentence.endswith("."):
        sentence = (
            sentence[:-1] if not sentence.endswith((" Corp.", " Ltd.", " Inc.")) else sentence
        )
    return sentence + rng.choice(ENDINGS)


class Writer:
    """A model that rewords, and makes a mistake in some of the sentences.

    ``spoiled`` holds every wrong sentence that it ever gave.
    """

    def __init__(
        self, spoil: Callable[[str, Random], str] | None = None, rate: float = 0.0
    ) -> None:
        self.spoil, self.rate = spoil, rate
        self.spoiled: set[str] = set()
        self.asked: list[Request] = []

    async def answer(self, request: Request) -> Completion:
        self.asked.append(request)
        return Completion(request.id, self.say(request), 10, 10, "stop")

    def say(self, request: Request) -> str:
        found = recognise(request.messages)
        assert found is not None and found.name == "paraphrase"
        rng = Random(request.seed)
        sentences = []
        for line in found.slots["sentences"].splitlines():
            old = line.partition(". ")[2]
            new = reword(old, rng)
            if self.spoil is not None and rng.random() < self.rate:
                new = self.spoil(new, rng)
                self.spoiled.add(new)
            sentences.append(new)
        assert len(sentences) == int(found.slots["count"])
        return json.dumps({"sentences": sentences})


def paraphrase(
    example: Example,
    writer: Writer,
    *tokens: str,
    retries: int = 2,
    only_gold: bool = False,
) -> tuple[Paraphrased, Talk]:
    talk = Talk(3, 0, retries)
    asked = Asked("m", writer, Sampling(1000, 0.6))
    options = parse(Paraphrase, tokens)
    work = paraphrase_example(example, talk, asked, options, retries, only_gold)
    return asyncio.run(work), talk


@pytest.mark.parametrize("number", range(8))
def test_a_faithful_rewriter_rewords_nearly_all_and_the_example_stays_valid(number: int) -> None:
    example = stream()[number]
    writer = Writer()
    made, talk = paraphrase(example, writer)
    assert verify(made.example) is None
    total = len(told_of(example))
    assert made.reworded + made.kept == total and made.reworded > 0.95 * total
    assert made.example.gold_table == example.gold_table
    assert made.example.engine == example.engine  # the row says what else had a part in it
    assert made.example.id != example.id
    assert [fact[:5] for fact in made.example.facts] == [fact[:5] for fact in example.facts]
    ending = re.compile("|".join(map(re.escape, ENDINGS)))
    assert len(ending.findall(made.example.adversarial_context)) == made.reworded
    assert all(request.schema == SCHEMAS["paraphrase"] for request in writer.asked)
    assert {call.verdict for call in talk.calls} == {"accepted"}


def _number(sentence: str) -> re.Match[str]:
    found = list(re.finditer(r"(?<!\w)\d+", sentence))
    return found[len(found) // 2]


def change_digit(sentence: str, rng: Random) -> str:
    if not re.search(r"(?<!\w)\d", sentence):
        return drop_name(sentence, rng)
    match = _number(sentence)
    return f"{sentence[: match.start()]}{int(match[0]) + 1}{sentence[match.end() :]}"


def drop_number(sentence: str, rng: Random) -> str:
    if not re.search(r"(?<!\w)\d", sentence):
        return drop_name(sentence, rng)
    match = _number(sentence)
    return f"{sentence[: match.start()]}some{sentence[match.end() :]}"


def drop_name(sentence: str, rng: Random) -> str:
    """All capitalised words go; every entity has one."""
    return re.sub(r"\b[A-Z]\w+", "it", sentence)


def add_number(sentence: str, rng: Random) -> str:
    return f"{sentence[:-1]}, up {rng.randint(2, 90)} on the day before."


def add_percent(sentence: str, rng: Random) -> str:
    if not re.search(r"\d[ .,]", sentence):
        return add_number(sentence, rng)
    return re.sub(r"(\d)(?=[ .,](?!\d))", r"\1%", sentence, count=1)


def add_minus(sentence: str, rng: Random) -> str:
    if not re.search(r" \d", sentence):
        return add_number(sentence, rng)
    return re.sub(r" (\d)", r" -\1", sentence, count=1)


def add_word(sentence: str, rng: Random) -> str:
    return (
        f"{sentence[:-1]}, {rng.choice(('twice the usual', 'the highest of all', 'or nearly so'))}."
    )


def deny(sentence: str, rng: Random) -> str:
    return f"{sentence[:-1]}, which is not so."


def add_name(sentence: str, rng: Random) -> str:
    return f"{sentence[:-1]}, as Harwell confirmed."


def split(sentence: str, rng: Random) -> str:
    return f"{sentence} That was all there was to say."


def stretch(sentence: str, rng: Random) -> str:
    return f"{sentence[:-1]}{', as we hear' * 30}."


def mark(sentence: str, rng: Random) -> str:
    return f"**{sentence}**"


def repeat(sentence: str, rng: Random) -> str:
    if not re.search(r"(?<!\w)\d", sentence):
        return add_name(sentence, rng)
    return f"{sentence[:-1]}, so {_number(sentence)[0]} it is."


def repeat_the_old(sentence: str, rng: Random) -> str:
    for ending in ENDINGS:
        sentence = sentence.removesuffix(ending)
    return sentence if sentence.endswith(".") else f"{sentence}."


SPOILERS = (
    change_digit, drop_number, drop_name, add_number, add_percent, add_minus, add_word, deny,
    add_name, split, stretch, mark, repeat, repeat_the_old,
)  # fmt: skip


@pytest.mark.parametrize("spoil", SPOILERS, ids=lambda spoil: spoil.__name__)
def test_every_spoiled_sentence_is_caught(spoil: Callable[[str, Random], str]) -> None:
    rng = Random(spoil.__name__)
    count = 0
    for example in stream()[::10]:
        rewording = Rewording(example)
        for told in told_of(example):
            if rewording.is_fit(told):
                faithful = reword(told.text, rng)
                assert isinstance(rewording.check(told, faithful), Sentence), faithful
                wrong = spoil(faithful, rng)
                assert isinstance(rewording.check(told, wrong), Problem), (told.text, wrong)
                count += 1
    assert count > 150


def test_a_sentence_is_never_taken_for_another_rows() -> None:
    for example in stream()[::8]:
        rewording = Rewording(example)
        told = told_of(example)
        for one, other in pairwise(told):
            if one.entity != other.entity:
                assert isinstance(rewording.check(one, other.text), Problem)
                joined = f"{one.text[:-1]} and so does {other.entity}."
                assert isinstance(rewording.check(one, joined), Problem)


def _swap(told: Told, example: Example) -> str | None:
    """The sentence with two of its numbers in each other's place."""
    parts = [example.facts[index] for index in told.facts]
    numbers = [part for part in parts if part.value[0].isdigit() and part.entity != part.value]
    if len(numbers) < 2 or numbers[0].value == numbers[1].value:
        return None
    first, second = sorted(numbers[:2], key=lambda part: part.adversarial.start)
    text, at = told.text, first.adversarial.sentence_start
    a, b = first.adversarial.start - at, first.adversarial.end - at
    c, d = second.adversarial.start - at, second.adversarial.end - at
    return text[:a] + second.value + text[b:c] + first.value + text[d:]


def test_values_that_change_places_are_caught() -> None:
    caught = Counter[bool]()
    for example in stream()[::3]:
        rewording = Rewording(example)
        for told in told_of(example):
            if rewording.is_fit(told) and (wrong := _swap(told, example)) is not None:
                caught[isinstance(rewording.check(told, wrong), Problem)] += 1
    assert caught[True] > 200
    assert caught[False] == 0


def test_a_blank_attribute_is_not_named_beside_its_entity() -> None:
    tried = 0
    for example in stream():
        rewording = Rewording(example)
        for told in told_of(example):
            row = example.facts[told.facts[0]]
            if row.violates is not None or not rewording.is_fit(told):
                continue
            for column, cell in zip(
                example.gold_table.columns, example.gold_table.rows[row.row], strict=True
            ):
                if cell is None:
                    problem = rewording.check(told, f"{told.text[:-1]}, whatever the {column}.")
                    assert isinstance(problem, Problem), told
                    tried += 1
    assert tried > 50


@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize("spoil", [change_digit, add_number, drop_name])
def test_what_fails_is_asked_again_with_the_reason_and_never_gets_in(
    spoil: Callable[[str, Random], str], rate: float
) -> None:
    example = stream()[2]
    writer = Writer(spoil, rate)
    made, talk = paraphrase(example, writer)
    assert verify(made.example) is None
    assert writer.spoiled and talk.rejections
    for wrong in writer.spoiled:
        assert wrong not in made.example.adversarial_context
    total = len(told_of(example))
    # three tries each: about rate**3 of the sentences stay as they were
    assert made.kept <= max(0.05, 2 * rate**3) * total
    again = [request for request in writer.asked if len(request.messages) > 2]
    reasons = {rejection.text for rejection in talk.rejections}
    assert again
    for request in again:
        told = re.findall(r"^- Sentence \d+: (.*)$", request.messages[-1]["content"], re.M)
        found = recognise(request.messages)
        assert found is not None and len(told) == int(found.slots["count"])
        assert set(told) <= reasons
    assert {rejection.stage for rejection in talk.rejections} == {"paraphrase"}
    assert {rejection.attempt for rejection in talk.rejections} <= {0, 1, 2}


def test_sentences_that_always_fail_stay_in_the_programs_words() -> None:
    example = stream()[4]
    made, talk = paraphrase(example, Writer(add_number, 1.0), retries=1)
    assert made.reworded == 0 and made.kept == len(told_of(example))
    assert made.example.adversarial_context == example.adversarial_context
    assert made.example.facts == example.facts
    assert Counter(r.kind for r in talk.rejections)[words.NUMBER_ADDED] == len(talk.rejections)


def test_the_row_is_given_up_where_every_sentence_must_be_reworded() -> None:
    with pytest.raises(GivenUp):
        paraphrase(stream()[4], Writer(add_number, 1.0), "failed=reject", retries=1)
    made, _ = paraphrase(stream()[4], Writer(add_number, 0.1), "failed=reject", retries=9)
    assert made.kept == 0


def test_only_the_gold_sentences_where_a_model_perturbs() -> None:
    example = stream()[1]
    writer = Writer()
    made, _ = paraphrase(example, writer, only_gold=True)
    gold = [told for told in told_of(example) if example.facts[told.facts[0]].violates is None]
    assert made.reworded + made.kept == len(gold) and made.reworded > 0.9 * len(gold)
    assert verify(made.example) is None
    for told in told_of(example):
        if told not in gold:
            assert told.text in made.example.adversarial_context
    assert len(writer.asked) == -(-len(gold) // Paraphrase().sentences)


class Deaf(Writer):
    """Answers some requests with something else than JSON."""

    def say(self, request: Request) -> str:
        return "Certainly not." if len(self.asked) % 3 == 1 else super().say(request)


class Dead(Writer):
    """Fails for good."""

    async def answer(self, request: Request) -> Completion:
        return Completion(request.id, "", 0, 0, "error", error="gone")


def test_an_answer_that_cannot_be_read_is_asked_for_again() -> None:
    made, talk = paraphrase(stream()[5], Deaf())
    assert made.reworded > 0.9 * (made.reworded + made.kept)
    assert {rejection.kind for rejection in talk.rejections} == {"no JSON object"}


def test_a_bundle_without_an_answer_stays_as_it_was() -> None:
    example = stream()[5]
    made, talk = paraphrase(example, Deaf(), retries=0)
    bundles = -(-len(told_of(example)) // 12)
    assert len(talk.calls) == bundles
    assert abs(made.kept - 12 * -(-bundles // 3)) <= 12


def test_a_request_that_fails_for_good_gives_the_row_up() -> None:
    with pytest.raises(GivenUp):
        paraphrase(stream()[5], Dead())


def test_the_same_answers_give_the_same_example() -> None:
    made = [paraphrase(stream()[6], Writer(change_digit, 0.3))[0] for _ in range(2)]
    assert made[0] == made[1]


NATURAL = [
    ("Alba has 5 wins and 7 losses.", "Alba can look back on 5 wins and 7 losses.", None),
    ("Alba has 5 wins and 7 losses.", "With 7 losses to 5 wins, Alba carries on.", None),
    ("Alba has 5 wins and 7 losses.", "Alba has 7 wins and 5 losses.", words.SWAPPED),
    ("Alba has 5 wins and 7 losses.", "Alba has 5 and 7.", words.ATTRIBUTE_MISSING),
    ("Alba has 5 wins and 7 losses.", "Alba has 5 wins, 7 losses and no draw.", words.WORD_ADDED),
    ("Alba has 5 wins and 7 losses.", "Alba has five wins and 7 losses.", words.VALUE_MISSING),
    ("Alba has 5 wins and 7 losses.", "Alba has 5 wins and 7.0 losses.", words.VALUE_MISSING),
    ("Alba has 5 wins and 7 losses.", "She has 5 wins and 7 losses.", words.ENTITY_MISSING),
]


@pytest.mark.parametrize(("old", "new", "kind"), NATURAL)
def test_rewordings_by_hand(old: str, new: str, kind: str | None) -> None:
    rewording, told = _by_hand(old, {"Wins": "5", "Losses": "7"})
    checked = rewording.check(told, new)
    assert kind == (checked.kind if isinstance(checked, Problem) else None)
    if isinstance(checked, Sentence):
        assert [new[part.start : part.end] for part in checked.stated] == ["5", "7"]


PROSE = [
    (
        "For Pujond X, the list has 1.8 under Units Sold (Million) and the launch year 2017.",
        {"Units Sold (Million)": "1.8", "Launch Year": "2017"},
        "Pujond X came out in 2017 and sold 1.8 million units.",
        None,
    ),
    (
        "By Operating System, Jajen One falls under Linux.",
        {"Operating System": "Linux"},
        "Jajen One runs on Linux.",
        None,
    ),
    (
        "For Zaidahal Railway, the list gives the opening date 20 September 1994, the Gauge "
        "Standard and 195.2 under Length (km).",
        {"Opening Date": "20 September 1994", "Gauge": "Standard", "Length (km)": "195.2"},
        "Opened on 20 September 1994, Zaidahal Railway runs for 195.2 km on the Standard gauge.",
        None,
    ),
    (
        "One entry for Wovutand Holdings has the Auditor Oakhurst, the Fiscal Year 2021, 8,397.8 "
        "under Revenue (USD Million) and 370.6 in Net Income (USD Million).",
        {
            "Auditor": "Oakhurst",
            "Fiscal Year": "2021",
            "Revenue (USD Million)": "8,397.8",
            "Net Income (USD Million)": "370.6",
        },
        "In 2021, Wovutand Holdings, audited by Oakhurst, reported a revenue of 8,397.8 million "
        "USD and a net income of 370.6 million USD.",
        None,
    ),
    (
        "Records give Vilak Park 146 in Highest Point (m) and 8.3 under Area (km2).",
        {"Highest Point (m)": "146", "Area (km2)": "8.3"},
        "Vilak Park rises to 8.3 m at its highest point and has an area of 146 km2.",
        words.SWAPPED,
    ),
    (
        "Records give Vilak Park 146 in Highest Point (m) and 8.3 under Area (km2).",
        {"Highest Point (m)": "146", "Area (km2)": "8.3"},
        "Vilak Park rises to 146 m at its highest point and has an area of 8.3 km2.",
        None,
    ),
    (
        "Droskus Probe appears with 1204 under Cost (USD Million) and 2 Instruments.",
        {"Cost (USD Million)": "1204", "Instruments": "2"},
        "Droskus Probe carries 2 instruments and came to $1204 million.",
        words.VALUE_MISSING,
    ),
    (
        "Droskus Probe appears with 1204 under Cost (USD Million) and 2 Instruments.",
        {"Cost (USD Million)": "1204", "Instruments": "2"},
        "Droskus Probe cost more than 1204 million USD and carries 2 instruments.",
        words.WORD_ADDED,
    ),
]


@pytest.mark.parametrize(("old", "values", "new", "kind"), PROSE)
def test_prose_as_a_model_writes_it(
    old: str, values: dict[str, str], new: str, kind: str | None
) -> None:
    entity = re.search(r"[A-Z]\w+ (?:X|One|Railway|Holdings|Park|Probe)", old)
    assert entity
    rewording, told = _by_hand(old, values, entity[0])
    checked = rewording.check(told, new)
    assert kind == (checked.kind if isinstance(checked, Problem) else None), checked


def _by_hand(text: str, values: dict[str, str], entity: str = "Alba") -> tuple[Rewording, Told]:
    """A sentence as the only one of an example."""
    facts = []
    for column, value in values.items():
        start = text.index(value)
        place = Mention(start, start + len(value), 0, len(text))
        facts.append(Fact(0, entity, column, value, "Wins", None, place))
    example = replace(stream()[0], adversarial_context=text, facts=tuple(facts), id="")
    return Rewording(example), Told(text, entity, tuple(range(len(facts))))


def test_values_inside_other_values_are_told_apart() -> None:
    values = {"Wins": "5", "Losses": "15", "Home": "Port Alba 5"}
    rewording, told = _by_hand("Alba has 15 losses, 5 wins and Port Alba 5 as home.", values)
    new = "From Port Alba 5, Alba went to 5 wins and 15 losses."
    checked = rewording.check(told, new)
    assert isinstance(checked, Sentence)
    assert [new[part.start : part.end] for part in checked.stated] == ["5", "15", "Port Alba 5"]
    assert [part.start for part in checked.stated] == [31, 42, 5]


def test_a_value_that_stands_in_its_sentence_twice_is_left_alone() -> None:
    rewording, told = _by_hand("Alba, the 5, has 5 wins.", {"Wins": "5"})
    assert not rewording.is_fit(told)
