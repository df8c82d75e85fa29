"""What people look at: safe from hostile text, complete, and saying what the numbers say."""

from __future__ import annotations

import hashlib
import html
import json
import re
from html.parser import HTMLParser

import pytest

from tablemend.errors import TablemendError
from tablemend.records import (
    Answer,
    Constraints,
    Example,
    Fact,
    Finding,
    Judgement,
    Mention,
    Share,
)
from tablemend.reports.content import Cell, Rows, points, with_interval
from tablemend.reports.rendering import inline_hash, resource
from tablemend.reports.report import (
    SCRIPTS,
    ShownAnswer,
    fill_results_page,
    terminal_table,
    write_html,
    write_markdown,
    write_reports,
)
from tablemend.reports.tabulation import RESULTS_VERSION
from tablemend.statistics import Rate
from tablemend.tables.table import Table
from tests.support.results import SETTINGS, results_of

HOSTILE = "<script>alert('x')</script> & \"quoted\" | ]]> {{ }}"
VOID = {"meta", "br", "path", "use"}


class Page(HTMLParser):
    """Checks that tags are balanced; collects elements, texts and every address."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(source)
        assert self.open == []

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name):
        if name not in VOID:
            assert self.open.pop() == name

    def handle_data(self, data):
        self.text.append(data)

    def classes(self, name: str) -> list[str]:
        return [a.get("class") or "" for tag_name, a in self.elements if tag_name == name]


def make_example(number: int = 0, domain: str = "Finance", word: str = "Oslo") -> Example:
    context = f"In 2020 {word} had 7 shops. In 2021 Bergen had 9 shops. Number {number}."
    facts = (
        Fact(0, word, "Shops", "7", None, None, Mention(14 + len(word) - 1, 14 + len(word), 0, 20)),
        Fact(0, "Bergen", "Shops", "9", "Year", None, mention_of(context, "9")),
    )
    return Example(
        topic="cities",
        category="Economy",
        domain=domain,
        query=f"The cities in 2020 {HOSTILE}",
        constraints=Constraints(("cities",), None, "Shops", "ascending"),
        gold_table=Table.of(["City", "Shops", "Mayor"], [[word, "7", None]]),
        gold_context=f"In 2020 {word} had 7 shops. {number}",
        adversarial_context=context,
        difficulty="easy",
        facts=facts,
        source="made up",
        source_hash=str(number),
        engine="test",
        seed=number,
    )


def mention_of(context: str, value: str) -> Mention:
    start = context.index(value)
    return Mention(start, start + len(value), 0, len(context))


def make_judgement(*findings: Finding, matched: int = 1) -> Judgement:
    shares = {"row_recall": Share(matched, 1), "cell_recall": Share(2 * matched, 2)}
    return Judgement(findings, shares, scorer="tablemend 0, lexical")


ATTRIBUTE = Finding("attribute", 0, "Shops", "7", "8", f"not 7 {HOSTILE}")
RANGE = Finding("out_of_range", 1, None, None, "Bergen", "Bergen is of 2021")


def make_results(
    domains=("Finance", "Sport"), systems=("base", "sft"), contexts=("clean", "adversarial")
):
    examples = [make_example(number, domains[number % len(domains)]) for number in range(12)]
    text = (
        f"####\n| City | Shops | Mayor |\n|---|---|---|\n| {HOSTILE[:25]} | 8 | |\n| Bergen | 9 | |"
    )
    wrong, right = make_judgement(ATTRIBUTE, RANGE), make_judgement()
    shown = {
        system: {
            context: {
                one.id: ShownAnswer(
                    Answer(one.id, system, context, text, 10, 20, "stop"),
                    wrong if system == "base" or index % 6 == 0 else right,
                )
                for index, one in enumerate(examples)
            }
            for context in contexts
        }
        for system in systems
    }
    return *results_of(examples, shown, {**SETTINGS, "model": HOSTILE}), shown


@pytest.fixture(scope="module")
def source() -> str:
    return write_html(*make_results())


@pytest.fixture(scope="module")
def page(source: str) -> Page:
    return Page(source)


def test_page_asks_for_nothing(page, source):
    for name, attributes in page.elements:
        assert name not in {"link", "img", "iframe", "object", "image"}
        for key in ("src", "href", "xlink:href", "action"):
            assert (attributes.get(key) or "#").startswith("#"), (name, attributes)
    assert "@import" not in source
    assert set(re.findall(r"url\((.)", source)) <= {"#"}


def test_the_policy_admits_our_scripts_and_nothing_else(page, source):
    scripts = re.findall(r"<script>(.*?)</script>", source, re.DOTALL)
    policy = next(a["content"] for _, a in page.elements if a.get("http-equiv"))
    admitted = re.search(r"script-src ([^;]*);", policy)
    assert admitted is not None
    assert admitted[1].split() == [f"'{inline_hash(one)}'" for one in scripts]
    assert policy.startswith("default-src 'none';") and len(scripts) == len(SCRIPTS)


def test_vendored_scripts_are_as_they_were_published():
    lines = resource("tablemend.reports", "vendor/SHA256").splitlines()
    listed = {name: published for published, name in map(str.split, lines)}
    assert set(listed) == {name.removeprefix("vendor/") for name in SCRIPTS if "/" in name}
    for name, published in listed.items():
        text = resource("tablemend.reports", f"vendor/{name}")
        assert hashlib.sha256(text.encode()).hexdigest() == published
        assert resource("tablemend.reports", f"vendor/{name.partition('/')[0]}/LICENSE")


def test_hostile_text_stays_text(page):
    kinds = [a.get("type") for name, a in page.elements if name == "script"]
    assert kinds.count(None) == len(SCRIPTS) and set(kinds) == {None, "text/plain"}
    assert any(HOSTILE in text for text in page.text)


def test_page_has_all_sections_and_plots(page):
    ids = {a.get("id") for _, a in page.elements}
    assert {"short", "meanings", "plots", "rates", "tests", "viewer", "provenance"} <= ids
    names = [name for name, _ in page.elements]
    assert names.count("svg") == 4 and names.count("title") == 5
    assert "viewport" in {a.get("name") for _, a in page.elements}
    assert any("tablemend 0, lexical" in text for text in page.text)


def test_wrong_values_are_shown_by_calculation() -> None:
    results, views, shown = make_results()
    assert {*results["by_calculation"]["base"]["clean"]} == {"none"}
    assert "calculated" not in write_markdown(results)
    results["by_calculation"] = {
        system: {
            context: dict.fromkeys(("addition", "none"), own) for context, own in kinds.items()
        }
        for system, kinds in results["systems"].items()
    }
    assert re.search(r"\| % +\| +none \(n = \d+\) \| +addition", write_markdown(results))
    found = [name for name, _ in Page(write_html(results, views, shown)).elements]
    assert found.count("svg") == 5


def _answered(finding: Finding | None, unscored: str, share: float):
    """Results in which a share of base's answers, and none of others, are as given."""
    *_, shown = make_results()
    bad = Judgement((finding,) if finding else (), unscored=unscored, scorer="tablemend 0, lexical")
    for own in shown["base"].values():
        for place, (name, one) in enumerate(own.items()):
            said = bad if place < share * len(own) else make_judgement()
            own[name] = ShownAnswer(one.answer, said)
    examples = [make_example(number, ("Finance", "Sport")[number % 2]) for number in range(12)]
    return *results_of(examples, shown), shown


@pytest.mark.parametrize(
    ("finding", "unscored", "said"),
    [
        (Finding("format_error", None, None, None, None, "no table"), "", "hold no table with"),
        (None, "none of its claims could be scored", "hold no claim or answer"),
    ],
)
def test_the_head_says_that_most_answers_cannot_be_read(finding, unscored, said) -> None:
    results, views, shown = _answered(finding, unscored, 0.75)
    line = f"Of base's answers, 75 % on {results['contexts']['clean']} and 75 % on "
    pages = write_html(results, views, shown), write_markdown(results), terminal_table(results)
    for page, begin in zip(pages, ("<table", "\n## ", "| % "), strict=True):
        head = html.unescape(page[: page.index(begin)])
        assert line in head and said in head and "sft's" not in head
    assert "Of base's" not in terminal_table(_answered(finding, unscored, 0.4)[0])


def test_a_table_is_as_wide_as_the_terminal_and_columns_that_do_not_fit_follow(monkeypatch) -> None:
    names = [f"a system {number}" for number in range(12)]
    body = [[Cell("total"), *(Cell(f"{n}.0", "12.3-45.6") for n in range(12))]]
    wide = Rows(["%", *names], body, frozenset([0]))
    for width in (60, 100, 220):
        lines = wide.short(width).splitlines()
        assert max(map(len, lines)) <= width
        assert [n for line in lines for n in names if f" {n} " in line] == names
        tables = wide.short(width).split("\n\n")
        assert all("| total " in one and "12.3-45.6" in one for one in tables)
    monkeypatch.setenv("COLUMNS", "72")
    results, _, _ = _answered(None, "", 0.5)
    tables = [line for line in terminal_table(results).splitlines() if line.startswith("|")]
    assert 60 < max(map(len, tables)) <= 72


def test_a_rate_leads_to_its_answers(page):
    links = [a["href"] for name, a in page.elements if name == "a" and "?" in (a["href"] or "")]
    assert "#examples?context=adversarial&system=sft&outcome=attribute" in links
    assert "#examples?context=adversarial&system=base&outcome=any-error" in links


@pytest.mark.parametrize("damaged", [{}, {"systems": {}}, {"systems": None}])
def test_results_without_their_figures_are_refused(tmp_path, damaged):
    (tmp_path / "results.json").write_text(json.dumps({"version": RESULTS_VERSION} | damaged))
    for name in ("views.jsonl", "judgements.jsonl"):
        (tmp_path / name).write_text("")
    with pytest.raises(TablemendError, match="are not as this version writes them"):
        write_reports(tmp_path)
    assert not (tmp_path / "report.md").exists()


def test_a_page_of_results_gets_a_row_for_each_system_between_its_markers(tmp_path):
    results, *_ = make_results()
    page = tmp_path / "page.md"
    page.write_text("Kept.\n\n<!-- figures: clean -->\nold\n<!-- end -->\n\nKept too.\n")
    fill_results_page(page, results)
    text = page.read_text("utf-8")
    assert text.startswith("Kept.\n") and text.endswith("\nKept too.\n") and "old" not in text
    head, _, *rows = (line.strip("| ").split("|") for line in text.splitlines() if "|" in line)
    assert [row[0].strip() for row in rows] == list(results["systems"])
    for name, row in zip(results["systems"], rows, strict=True):
        found = dict(zip(map(str.strip, head), map(str.strip, row), strict=True))
        own = results["systems"][name]["clean"]
        assert float(found["TotalHallu"].split()[0]) == round(100 * own["total_hallu"]["rate"], 1)
        assert float(found["row recall"]) == round(100 * own["row_recall"]["rate"], 1)
    page.write_text("<!-- figures: cleen -->\n<!-- end -->\n")
    with pytest.raises(TablemendError, match="no figures are called 'cleen'"):
        fill_results_page(page, results)


def test_a_value_without_an_interval_is_shown_alone() -> None:
    """Of one table there is none."""
    alone = Rate(rate=0.5, low=None, high=None, n=3)
    assert with_interval(alone) == "50.0"
    assert points(-0.5, None, None, " points") == "\N{MINUS SIGN}50.0 points"
