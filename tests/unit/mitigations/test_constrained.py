"""Constrained decoding: what a grammar admits, and that engines and systems keep to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from llguidance import LLMatcher, LLTokenizer, grammar_from
from llguidance.hf import from_tokenizer
from transformers import AutoTokenizer

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.hf import HFEngine
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.config import BackendOptions, ConfigError, Format, parse
from tablemend.detector.query import columns_from_query, sort_rule_from_query
from tablemend.evaluation.command import CompareCommand
from tablemend.mitigations.constrained import answer_grammar, keeps_header
from tablemend.records import Example
from tablemend.reports.content import system_table
from tablemend.reports.report import terminal_table, write_markdown
from tablemend.tables.extract import extract_table
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import prompts, small_world
from tablemend.tasks.tablehallu.query import WORDS, list_columns
from tablemend.values.text import tokens_of
from tests.support.answering import AnsweringServer, compare, evaluation, right_answer

TINY = Path(__file__).parents[3] / "checkpoints" / "tiny-base"
EXAMPLES = list(small_world.examples(seed=9, n=6))
FORMATS: tuple[Format, ...] = get_args(Format)


@pytest.fixture(scope="module")
def admits() -> Callable[[str, str], bool]:
    """Whether a grammar admits a whole text."""
    tokenizer = AutoTokenizer.from_pretrained(TINY)
    known: LLTokenizer = from_tokenizer(tokenizer)

    def check(grammar: str, text: str) -> bool:
        matcher = LLMatcher(known, grammar_from("gbnf", grammar), log_level=0)
        assert not matcher.get_error(), matcher.get_error()
        ids = tokenizer.encode(text, add_special_tokens=False)
        return all(matcher.consume_token(token) for token in ids) and matcher.is_accepting()

    return check


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("spans", [False, True])
@pytest.mark.parametrize("named", [True, False])
def test_a_grammar_admits_every_gold_answer(
    admits: Callable[[str, str], bool], format: Format, spans: bool, named: bool
) -> None:
    for example in EXAMPLES:
        gold = example.gold_table
        context = example.adversarial_context if spans else None
        grammar = answer_grammar(gold.columns if named else None, format, context)
        for rows in (gold.rows, gold.rows[:1], gold.rows * 3, ()):
            assert admits(grammar, prompts.answer(Table.of(gold.columns, rows), format))


@pytest.mark.parametrize("format", FORMATS)
def test_a_context_without_a_word_leaves_blanks_and_the_header_alone(
    admits: Callable[[str, str], bool], format: Format
) -> None:
    columns = ("Mill", "Wheels")
    grammar = answer_grammar(columns, format, "")
    for rows, admitted in (((), True), ([[None, None]], True), ([["Alder", "5"]], False)):
        text = prompts.answer(Table.of(columns, rows), format)
        assert admits(grammar, text) == admitted


@pytest.mark.parametrize("format", FORMATS)
def test_a_grammar_refuses_another_header_and_another_width(
    admits: Callable[[str, str], bool], format: Format
) -> None:
    gold = EXAMPLES[0].gold_table
    grammar = answer_grammar(gold.columns, format, None)
    other = Table.of(("Other", *gold.columns[1:]), gold.rows)
    turned = Table.of(gold.columns[::-1], [row[::-1] for row in gold.rows])
    narrow = Table.of(gold.columns[:-1], [row[:-1] for row in gold.rows])
    for table in (other, turned, narrow):
        assert not admits(grammar, prompts.answer(table, format))
    whole = prompts.answer(gold, format)
    assert not admits(grammar, "Here it is: " + whole)
    assert not admits(grammar, whole + "\nI hope this helps.")


@pytest.mark.parametrize("format", FORMATS)
def test_cells_limited_to_spans_are_words_of_one_sentence(
    admits: Callable[[str, str], bool], format: Format
) -> None:
    context = "Ann Lee (born 1970) had 3.5% of it, e.g. gold. Bo Kim had $7."

    def holds(cell: str | None) -> bool:
        text = prompts.answer(Table.of(("A", "B"), [("Ann Lee", cell)]), format)
        return admits(answer_grammar(("A", "B"), format, context), text)

    for cell in ("born 1970", "3.5%", "3.5", "$7", "7", "Bo Kim", "Ann Lee (born 1970)", None):
        assert holds(cell), cell
    for cell in ("Ann Kim", "1971", "gold. Bo", "An", "197", "gold Bo", "Lee Ann"):
        assert not holds(cell), cell


def test_cells_and_columns_with_marks_of_the_format_are_escaped(
    admits: Callable[[str, str], bool],
) -> None:
    table = Table.of(("A|b", 'C & "d"', "100%_x"), [("3.5% $x", "a|b\\c_d", '{"q"}')])
    for format in FORMATS:
        grammar = answer_grammar(table.columns, format, None)
        assert admits(grammar, prompts.answer(table, format)), format


def test_an_answer_keeps_its_header_or_does_not() -> None:
    columns = EXAMPLES[0].gold_table.columns
    for format in FORMATS:
        for rows in ((), EXAMPLES[0].gold_table.rows):
            text = prompts.answer(Table.of(columns, rows), format)
            assert keeps_header(text, columns, format)
            assert not keeps_header("Sure! " + text, columns, format)
            assert not keeps_header(text, columns[::-1], format)


def test_the_columns_of_a_query_are_read_as_written() -> None:
    for example in small_world.examples(seed=4, n=60):
        assert columns_from_query(example.query) == example.gold_table.columns
    names = ["Year", "Team (city)", "Goals, total"]
    slots = {"rows": 'winners of the "Cup"', "text": "the text", "columns": list_columns(names)}
    for whole in WORDS["wholes"]:
        asked = whole.format(**slots, sort='"Year"', order="descending")
        assert columns_from_query(asked) == tuple(names), asked
        assert sort_rule_from_query(asked, names) == ("Year", "descending"), asked
    assert columns_from_query("Columns: Name, Born, and Died. Sort by Born.") == (
        "Name",
        "Born",
        "Died",
    )


@pytest.mark.parametrize(
    "query",
    [
        "",
        "Give me a table of all winners.",
        'Sort the table by "Year" in ascending order.',
        'Show winners whose "Year" is 1990, sorted by the column "Year".',
        'The columns are "Year" and "Year".',
        'Use the best columns. Leave "Ann" out.',
    ],
)
def test_a_query_without_a_column_list_names_none(query: str) -> None:
    assert columns_from_query(query) is None


def ask(model: Path, examples: list[Example], spans: bool, temperature: float) -> list[Completion]:
    engine = HFEngine(Checkpoint.parse(str(model)), BackendOptions(dtype="float32", batch_size=4))
    requests = [
        Request(
            example.id,
            prompts.messages(example, "clean"),
            Sampling(60, temperature),
            thinking=False,
            grammar=answer_grammar(
                example.gold_table.columns, "markdown", example.gold_context if spans else None
            ),
            seed=number,
        )
        for number, example in enumerate(examples)
    ]
    return sorted(engine.generate(requests), key=lambda answer: answer.id)


@pytest.mark.parametrize("temperature", [0.0, 2.0])
@pytest.mark.parametrize("spans", [False, True])
def test_transformers_keeps_to_a_grammar_even_with_random_weights(
    tiny_model: Path, spans: bool, temperature: float
) -> None:
    examples = sorted(EXAMPLES, key=lambda example: example.id)
    answers = ask(tiny_model, examples, spans, temperature)
    whole = 0
    for example, answer in zip(examples, answers, strict=True):
        columns = example.gold_table.columns
        assert keeps_header(answer.text, columns, "markdown") or answer.finish_reason == "length"
        if answer.finish_reason == "stop":
            table = extract_table(answer.text).table
            assert table is not None and table.columns == columns
            whole += 1
        if spans:  # of an answer that is cut too
            body = answer.text.split("\n")[3:-1]
            words = set(tokens_of(example.gold_context).words)
            for line in body:
                for cell in line.strip("| ").split(" | "):
                    assert cell == "-" or set(tokens_of(cell).words) <= words, cell
    assert len(answers) == len(examples)


def comparison(tmp_path: Path, model: str, **system: Any) -> list[str]:
    systems = {"base": {}, "constrained": {"mitigation": "spans", **system}}
    return evaluation(
        tmp_path, model, systems, {"n": 3, "seed": 9}, contexts=["clean"], max_new_tokens=60
    )


def test_thinking_and_a_grammar_exclude_each_other(tmp_path: Path, tiny_model: Path) -> None:
    tokens = comparison(tmp_path, str(tiny_model), thinking="on")
    with pytest.raises(
        ConfigError, match=r"systems\.constrained\.mitigation.*no room for thinking"
    ):
        parse(CompareCommand, tokens)


@pytest.mark.parametrize("how", ["passes over", "refuses", "once"])
def test_a_system_that_its_server_cannot_run_is_a_row_and_no_end(how: str, tmp_path: Path) -> None:
    examples = list(small_world.examples(9, 3))

    def reply(body: dict[str, Any]) -> Any:
        said = str(right_answer(body, examples))
        if "structured_outputs" not in body:
            return said
        if how == "refuses":
            return 400
        held = sum("structured_outputs" in one for one in server.bodies)
        return said if how == "once" and held == 1 else f"Here you are:\n{said}"

    with AnsweringServer(reply) as server:
        tokens = comparison(tmp_path, server.model)
        results = compare(tokens)
        asked_for = len(server.bodies)
        again = compare([*tokens, "rescore=true"])
        assert len(server.bodies) == asked_for
    (why,) = results["not_possible"].values()
    assert ("status 400" if how == "refuses" else "does not keep to its grammar") in why
    assert list(results["systems"]) == list(again["systems"]) == ["base"]
    assert results["systems"]["base"]["clean"]["total_hallu"]["rate"] == 0
    sent = [body for body in server.bodies if "structured_outputs" in body]
    assert all("root ::=" in body["structured_outputs"]["grammar"] for body in sent)
    assert "structured_outputs" in server.bodies[0] and len(sent) == (4 if how == "once" else 1)
    for shown in (terminal_table(results), write_markdown(results)):
        assert "constrained: not possible here: " in shown
    assert "not possible here" in system_table(results, "clean").markdown()


def test_a_server_that_knows_grammars_is_asked_all(tmp_path: Path) -> None:
    examples = list(small_world.examples(9, 3))
    with AnsweringServer(lambda body: str(right_answer(body, examples))) as server:
        kept = tmp_path / "kept"
        kept.mkdir()
        results = compare(comparison(kept, server.model))
    rates = results["systems"]["constrained"]["clean"]
    assert (rates["total_hallu"]["rate"], rates["total_hallu"]["n"]) == (0, 3)
