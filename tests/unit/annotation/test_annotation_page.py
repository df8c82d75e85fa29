"""The annotator's page: closed to the network, safe from its texts, and working in a browser."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tablemend.annotation.page import GUIDES, STEPS, Data, choose, read_data
from tablemend.annotation.report import gather, read_answers
from tablemend.cli.app import main
from tablemend.records import Example
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import small_world
from tests.support.annotators import write_data
from tests.support.chromium import PATIENCE, Browser
from tests.unit.reports.test_reports import Page

HOSTILE = "</script><script>alert(1)</script> <!-- \u2028 & 😀"


def hostile(example: Example) -> Example:
    """The same with hostile texts; an emoji before the facts moves UTF-16 places by one."""
    shift = len(HOSTILE)
    facts = tuple(
        fact._replace(
            entity=HOSTILE,
            clean=fact.clean
            and fact.clean._replace(start=fact.clean.start + shift, end=fact.clean.end + shift),
            adversarial=fact.adversarial._replace(
                start=fact.adversarial.start + shift, end=fact.adversarial.end + shift
            ),
        )
        for fact in example.facts
    )
    table = example.gold_table
    rows = [[HOSTILE, *table.rows[0][1:]], *table.rows[1:]]
    return replace(
        example,
        id="",
        topic=HOSTILE,
        query=f"{HOSTILE} {example.query}",
        gold_table=Table.of(table.columns, rows),
        gold_context=HOSTILE + example.gold_context,
        adversarial_context=HOSTILE + example.adversarial_context,
        facts=facts,
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    size = small_world.Size(rows=(2, 3), none=0.0)
    examples = [hostile(one) for one in small_world.examples(seed=5, n=3, size=size)]
    folder = write_data(tmp_path_factory.mktemp("page") / "data", examples)
    return read_data(str(folder))


@pytest.fixture(scope="module")
def page(data: Data) -> Path:
    out = Path(data.source).with_name("page.html")
    assert main(["annotate", "export", data.source, "--n=3", "--out", str(out)]) == 0
    return out


# ---- without a browser ----


def test_the_page_is_whole_and_loads_nothing(page: Path) -> None:
    read = Page(page.read_text(encoding="utf-8"))
    names = [name for name, _ in read.elements]
    assert names.count("script") == 2 and names.count("style") == 1
    assert not {"link", "img", "iframe", "object", "form"} & set(names)
    assert not any({"src", "href", "style"} & set(attributes) for _, attributes in read.elements)
    source = page.read_text(encoding="utf-8")
    assert not re.search(r"https?:|@import|url\(|innerHTML|XMLHttpRequest|sendBeacon", source)


def test_the_policy_admits_the_script_and_the_style_and_nothing_else(page: Path) -> None:
    source = page.read_text(encoding="utf-8")
    script = re.findall(r"<script>(.*?)</script>", source, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", source, re.DOTALL)
    assert len(script) == len(style) == 1

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    policy = re.search(r'Content-Security-Policy" content="(.*?)"', source)
    assert policy is not None
    assert html.unescape(policy[1]).split("; ") == [
        "default-src 'none'",
        f"script-src 'sha256-{digest(script[0])}'",
        f"style-src 'sha256-{digest(style[0])}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_texts_cannot_leave_their_script_element(page: Path, data: Data) -> None:
    source = page.read_text(encoding="utf-8")
    assert source.count("<script") == source.count("</script>") == 2 and "<!--" not in source
    read = Page(page.read_text(encoding="utf-8"))
    content = json.loads(next(text for text in read.text if text.startswith('{"format"')))
    assert [one["id"] for one in content["examples"]] == [one.id for one in choose(data, 3, 0)]
    assert content["examples"][0]["topic"] == HOSTILE
    assert [step["name"] for step in content["steps"]] == list(STEPS)
    assert [step["points"] for step in content["steps"]] == [
        list(guide.points) for guide in GUIDES.values()
    ]


# ---- in a browser ----


@pytest.fixture
def fresh(browser: Browser, page: Path) -> Iterator[Browser]:
    """The page, opened for the first time; its script must run without a complaint."""
    browser.problems.clear()
    browser.open(page)
    browser.run("localStorage.clear()")
    browser.open(page)
    yield browser
    assert browser.problems == []


def begin(browser: Browser, name: str) -> None:
    browser.wait("document.activeElement.id === 'name'")
    browser.run("document.getElementById('name').select()")
    browser.type(name)
    browser.press("Enter")
    browser.wait("document.getElementById('heading')")


def downloaded(browser: Browser, name: str, button: str) -> Path:
    path = browser.downloads / name
    path.unlink(missing_ok=True)
    browser.click(button)
    end = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < end, f"no {name}"
        time.sleep(0.02)
    return path


def text_of(browser: Browser, selector: str) -> Any:
    return browser.run(f"document.querySelector({json.dumps(selector)})?.textContent")


def test_an_annotator_works_by_keys_alone_and_hands_in_a_file(fresh: Browser, data: Data) -> None:
    begin(fresh, "  Zoë   Kowalska ")
    assert text_of(fresh, ".ask h2") == GUIDES["query"].question
    fresh.press("y")
    fresh.press("Enter")
    assert text_of(fresh, ".ask h2") == GUIDES["table"].question
    fresh.press("n")
    fresh.type("=row 2, yes?")  # a note may begin like a formula and hold the letters of keys
    fresh.press("Enter")
    assert text_of(fresh, ".ask h2") == GUIDES["context"].question
    fresh.press("u")
    fresh.press("Escape")
    fresh.press("ArrowLeft")
    assert fresh.run("document.getElementById('note').value") == "=row 2, yes?"
    for _ in range(2):
        fresh.press("ArrowRight")
    for _ in range(6):
        fresh.press("y")
        fresh.press("Enter")
    assert text_of(fresh, "h1") == "All questions are answered"
    assert text_of(fresh, "#count") == "9 of 9 answers, 3 of 3 examples"
    path = downloaded(fresh, "answers-Zoë-Kowalska.json", "#json")
    answers = read_answers(path)
    file = answers[1]
    chosen = choose(data, 3, 0)
    assert [(vote.example, vote.step) for vote in file.answers] == [
        (example.id, step) for example in chosen for step in STEPS
    ]
    assert [vote.answer for vote in file.answers] == ["yes", "no", "unsure", *["yes"] * 6]
    assert [vote.note for vote in file.answers][:3] == ["", "=row 2, yes?", ""]
    assert json.loads(path.read_text("utf-8"))["annotator"] == "Zoë Kowalska"
    assert gather([answers], data)


def test_hostile_texts_are_shown_as_they_are(fresh: Browser, data: Data) -> None:
    begin(fresh, HOSTILE)
    example = choose(data, 3, 0)[0]
    assert text_of(fresh, "h1") == f"1. {HOSTILE}"
    assert text_of(fresh, ".query p") or text_of(fresh, ".query") == example.query
    for number, step in enumerate(STEPS):
        fresh.click(f".tab:nth-child({number + 1})")
        assert text_of(fresh, ".ask h2") == GUIDES[step].question
        assert fresh.run("document.scripts.length") == 2
    assert text_of(fresh, ".context.gold") == example.gold_context
    assert text_of(fresh, ".context.adversarial") == example.adversarial_context
