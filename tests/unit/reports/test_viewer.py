"""The viewer of a report: what is packed, and what a reader finds in a browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tablemend.records import Finding, Mark
from tablemend.reports import report
from tablemend.reports.report import BETWEEN_WORDS, ShownAnswer, pack_examples, write_html
from tablemend.tables.table import Table
from tests.support.chromium import Browser
from tests.support.results import unpack
from tests.unit.reports.test_reports import ATTRIBUTE, make_judgement, make_results

HOSTILE = (
    "</script><script>alert(1)</script> <!-- \" ' & \u2028 😀 \u202e\u05e9\u05dc\u05d5\u202c {{ }}"
)
LONG = "x" * 900_000  # the longest table that is read has a million characters
FIRST = "📈 "  # moves what stands behind it by one UTF-16 unit more


# ---- without a browser ----


def test_every_answer_is_packed_at_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "BLOCK", 5000)
    results, views, shown = make_results()
    packed = pack_examples(results, views, shown)
    index = unpack(packed["index"])
    blocks = [unpack(packed[f"block-{number}"]) for number in range(len(index["blocks"]))]
    assert len(packed) == 2 + len(blocks) > 5
    entries = [entry for block in blocks for entry in block]
    assert [len(block) for block in blocks] == [
        end - start for start, end in zip(index["blocks"], [*index["blocks"][1:], 24], strict=True)
    ]
    for row, entry in zip(index["rows"], entries, strict=True):
        assert (row["id"], row["context"]) == (entry["id"], entry["view"])
        for system, answer, outcomes in zip(
            index["systems"], entry["answers"], row["outcomes"], strict=True
        ):
            one = shown[system][row["context"]][row["id"]]
            assert answer["text"] == one.answer.text and answer["tokens"] == 20
            assert len(answer["findings"]) == len(one.judgement.findings)
            assert outcomes == (
                ["out_of_range", "attribute"] if one.judgement.findings else ["right"]
            )
            assert answer["table"]["columns"] == ["City", "Shops", "Mayor"]


def test_labels_are_the_samples_own() -> None:
    results, views, shown = make_results()
    rows = unpack(pack_examples(results, views, shown)["index"])["rows"]
    assert rows[0]["labels"] == {
        "domain": ["Finance"],
        "difficulty": ["easy"],
        "calculation": ["none"],
    }
    assert rows[1]["labels"]["distractor type"] == ["entity"]


def test_words_of_an_example_are_all_that_is_in_it() -> None:
    results, views, shown = make_results()
    packed = unpack(pack_examples(results, views, shown)["words"])
    sums = []
    for steps in packed["rows"]:
        numbers = [sum(steps[: place + 1]) for place in range(len(steps))]
        sums.append({packed["words"][number] for number in numbers})
    assert len(sums) == 24
    for view in ("clean", "adversarial"):
        for place, one in enumerate(views[view].values()):
            own = sums[2 * place + (view == "adversarial")]
            for text in (one.id, one.query, one.text, *one.gold.columns):
                assert set(BETWEEN_WORDS.split(text.lower())) <= own
            assert ("bergen" in own) and "nowhere" not in own


def test_an_answer_that_is_missing_or_unscored_is_said() -> None:
    results, views, shown = make_results(systems=("base", "sft"), contexts=("clean",))
    first, second = list(views["clean"])[:2]
    del shown["sft"]["clean"][first]
    one = shown["sft"]["clean"][second]
    shown["sft"]["clean"][second] = ShownAnswer(
        one.answer, replace(one.judgement, findings=(), unscored="the request failed")
    )
    packed = pack_examples(results, views, shown)
    rows, entries = unpack(packed["index"])["rows"], unpack(packed["block-0"])
    assert rows[0]["outcomes"][1] is None and entries[0]["answers"][1] is None
    assert rows[1]["outcomes"][1] == ["unscored"]
    assert entries[1]["answers"][1]["unscored"] == "the request failed"


# ---- in a browser ----


def make_page(folder: Path) -> Path:
    """Twelve examples by three systems; the first is hostile, and its third answer's cell long."""
    results, views, shown = make_results(systems=("base", "sft", "mended"))
    for context, own in views.items():
        name, one = next(iter(own.items()))
        marks = [Mark(m.start + len(FIRST), m.end + len(FIRST), m.kind, HOSTILE) for m in one.marks]
        gold = Table.of(["City", HOSTILE], [["Oslo", HOSTILE]])
        own[name] = replace(
            one, title=HOSTILE, query=HOSTILE, note=HOSTILE, text=FIRST + one.text,
            marks=tuple(marks), gold=gold,
        )  # fmt: skip
        for system, cell in (("base", HOSTILE.replace("\u2028", "")), ("mended", LONG)):
            answer = shown[system][context][name].answer
            text = f"| City | Shops |\n|---|---|\n| {cell} | 8 |"
            finding = replace(ATTRIBUTE, evidence=HOSTILE, expected=HOSTILE)
            judgement = make_judgement(finding)
            shown[system][context][name] = ShownAnswer(replace(answer, text=text), judgement)
    path = folder / "report.html"
    path.write_text(write_html(results, views, shown), "utf-8")
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_page(tmp_path_factory.mktemp("report"))


@pytest.fixture
def reader(browser: Browser) -> Iterator[Browser]:
    browser.problems.clear()
    resize(browser, 1280, 800)
    yield browser
    assert browser.problems == []


def resize(browser: Browser, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.call("Emulation.setDeviceMetricsOverride", **size)


def visit(browser: Browser, page: Path, address: str = "#examples") -> None:
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url=page.resolve().as_uri() + address)
    browser.wait("document.body?.dataset.ready")


def texts(browser: Browser, selector: str) -> list[str]:
    return browser.run(
        f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.textContent)"
    )


def wait_for(browser: Browser, selector: str) -> None:
    browser.wait(f"document.querySelector({json.dumps(selector)})")


def address_of(browser: Browser) -> str:
    return browser.run("location.hash")


def test_the_results_come_first_and_a_rate_leads_to_its_answers(
    reader: Browser, page: Path
) -> None:
    visit(reader, page, "")
    assert reader.run("document.getElementById('results').offsetHeight > 0")
    assert reader.run("document.querySelector('.viewer').offsetHeight") == 0
    reader.click("#short td a[href*='system=sft'][href*='attribute']")
    wait_for(reader, ".viewer .row")
    reader.wait("document.getElementById('results').offsetHeight === 0")
    assert len(texts(reader, ".row")) == 2  # sft errs in every sixth
    reader.run("history.back()")
    reader.wait("document.getElementById('results').offsetHeight > 0")


def test_the_table_of_systems_counts_what_is_listed(reader: Browser, page: Path) -> None:
    visit(reader, page)
    assert len(texts(reader, ".row")) == 12
    rows = texts(reader, ".systems tbody tr")
    assert rows[0].startswith("base12of 12100.012") and rows[1].startswith("sft12of 1216.72")
    visit(reader, page, "#examples?domain=Sport")
    assert len(texts(reader, ".row")) == 6
    assert texts(reader, ".filters output") == ["6 of 12"]
    assert texts(reader, ".systems tbody tr")[1].startswith("sft6of 60.00")


@pytest.mark.parametrize(
    ("filters", "n"),
    [
        ("context=clean", 12),
        ("system=sft&outcome=any-error", 2),
        ("system=sft&outcome=right", 10),
        ("outcome=unscored", 0),
        ("outcome=scored", 12),
        ("a=base&b=sft&outcome=differ", 11),
        ("distractor+type=entity", 12),
        ("difficulty=hard&difficulty=easy&domain=Finance", 6),
        ("q=number+7.", 1),
        ("q=SHOPS+bergen+nowhere", 0),
    ],
)
def test_filters(reader: Browser, page: Path, filters: str, n: int) -> None:
    visit(reader, page, f"#examples?{filters}")
    reader.wait(f"document.querySelectorAll('.row').length === {n}")
    assert texts(reader, ".filters output") == [f"{n} of 12"]


def test_an_example_shows_what_is_wrong_and_why(reader: Browser, page: Path) -> None:
    visit(reader, page, "#examples?domain=Sport&system=base&outcome=attribute")
    reader.click(".row:nth-of-type(1)")
    wait_for(reader, ".answers")
    assert texts(reader, ".source .words mark.fact")[-1:] == ["7"]
    assert texts(reader, ".source .words mark.distractor") == ["9"]
    chosen = reader.run("[...document.querySelectorAll('.answer select')].map((one) => one.value)")
    assert chosen == ["base", "mended"]
    wrong = "[...document.querySelectorAll('.answer td.error')].map((one) => one.className.trim())"
    assert reader.run(wrong) == ["error error-3", *["error error-1"] * 3]
    said = texts(reader, ".answer .findings li")
    assert "Attribute distortion" in said[0] and "row 1, Shops" in said[0]
    assert "expected 7" in said[0] and "got 8" in said[0] and "not 7" in said[0]
    assert "Out of range" in said[1] and "Bergen is of 2021" in said[1]
    assert "Bergen" in reader.run("document.querySelectorAll('td.error')[3].title")


def test_two_systems_stand_side_by_side(reader: Browser, page: Path) -> None:
    visit(reader, page, "#examples?domain=Sport")
    reader.press("j")
    wait_for(reader, ".answers")
    boxes = reader.run(
        "[...document.querySelectorAll('.answers > *')].map((one) =>"
        " one.getBoundingClientRect()).map(({x, y}) => [x, y])"
    )
    assert len(boxes) == 3 and boxes[1][1] == boxes[2][1] and boxes[1][0] < boxes[2][0]
    reader.press("b")
    reader.wait("location.hash.includes('b=base')")
    reader.press("a")
    reader.wait("location.hash.includes('a=sft')")
    visit(reader, page, address_of(reader))  # a deep link
    wait_for(reader, ".answers")
    chosen = reader.run("[...document.querySelectorAll('.answer select')].map((one) => one.value)")
    assert chosen == ["sft", "base"]


def test_it_works_by_keys_alone(reader: Browser, page: Path) -> None:
    visit(reader, page)
    current = "document.querySelector('.row[aria-current=true]')"
    place = f"[...document.querySelectorAll('.row')].indexOf({current})"
    for keys, expected in (("jj", 1), ("j", 2), ("kk", 0), ("k", 0)):
        for key in keys:
            reader.press(key)
        reader.wait(f"{place} === {expected}")
    reader.press("/")
    reader.wait("document.activeElement.type === 'search'")
    reader.type("number 11.")
    reader.wait("document.querySelectorAll('.row').length === 1")
    reader.wait("location.hash.includes('q=number+11.')")
    reader.press("Escape")
    reader.press("j")
    wait_for(reader, ".answers")
    reader.wait("CSS.highlights.get('found').size > 1")
    reader.press("Escape")
    wait_for(reader, ".systems")
    reader.press("Escape")
    reader.wait("document.querySelectorAll('.row').length === 12")
    reader.press("?")
    wait_for(reader, "[role=dialog]")
    assert "next, previous example" in texts(reader, "[role=dialog]")[0]
    reader.press("Escape")
    reader.wait("!document.querySelector('[role=dialog]')")


def test_hostile_and_long_texts_are_shown_as_they_are(reader: Browser, page: Path) -> None:
    visit(reader, page)
    scripts = reader.run("document.scripts.length")
    reader.press("j")
    wait_for(reader, ".answers")
    assert texts(reader, ".example h2") == [HOSTILE]
    assert texts(reader, ".query") == [f"Query. {HOSTILE}"]
    assert texts(reader, ".gold td")[1] == HOSTILE and texts(reader, ".gold th")[1] == HOSTILE
    assert texts(reader, ".source .words mark")[0] == "7"
    assert HOSTILE in texts(reader, ".findings li")[0]
    assert reader.run("document.scripts.length") == scripts
    cell = texts(reader, ".answer td.error ~ td, .answer td")  # the long one is cut and says so
    assert any("898,500 more characters" in one for one in cell)
    reader.click(".answer .more")
    reader.wait("[...document.querySelectorAll('.answer td')].some((one) =>"
                " one.textContent.length >= 900000)")  # fmt: skip
    assert reader.run("document.querySelector('.pane').scrollWidth") <= reader.run(
        "document.querySelector('.pane').clientWidth"
    )


def test_an_answer_in_words_has_its_claims_marked(reader: Browser, tmp_path: Path) -> None:
    results, views, shown = make_results(systems=("base",), contexts=("clean",))
    results["format"] = None
    name = next(iter(views["clean"]))
    one = shown["base"]["clean"][name]
    text = f"<think>no</think>{FIRST}Oslo has 8 shops."
    at = text.index("8")
    finding = Finding("attribute", None, None, "7", "8", "not 8", at, at + 1)
    answer = replace(one.answer, text=text)
    shown["base"]["clean"][name] = ShownAnswer(answer, make_judgement(finding))
    views["clean"][name] = replace(views["clean"][name], gold="7 shops", text="", marks=())
    path = tmp_path / "report.html"
    path.write_text(write_html(results, views, shown), "utf-8")
    visit(reader, path, f"#examples?id={name}")
    wait_for(reader, ".answers")
    assert texts(reader, ".answer .words mark") == ["81"]  # the number of its explanation
    assert texts(reader, ".answer .words")[1] == f"{FIRST}Oslo has 81 shops."
    assert texts(reader, ".gold .words") == ["7 shops"]
    assert reader.run("document.querySelectorAll('.answer select').length") == 1


def test_on_a_phone_nothing_is_wider_than_the_screen(reader: Browser, page: Path) -> None:
    resize(reader, 360, 740)
    for address in ("", "#examples"):
        visit(reader, page, address)
        assert reader.run("document.scrollingElement.scrollWidth") <= 360
    reader.click(".row:nth-of-type(2)")
    wait_for(reader, ".answers")
    assert reader.run("document.querySelector('.list').offsetHeight") == 0
    assert reader.run("document.scrollingElement.scrollWidth") <= 360
    lines = reader.run(
        "[...document.querySelectorAll('.answer td')].filter((one) =>"
        " one.textContent.startsWith('Bergen')).map((one) => {"
        " const words = document.createRange();"
        " words.selectNode(document.createTreeWalker(one, NodeFilter.SHOW_TEXT).nextNode());"
        " return words.getClientRects().length; })"
    )
    assert lines and set(lines) == {1}  # no word is broken
    reader.click(".back")
    reader.wait("document.querySelector('.list').offsetHeight > 0")


def test_light_and_dark(reader: Browser, page: Path) -> None:
    visit(reader, page)
    colour = "getComputedStyle(document.body).backgroundColor"
    seen = []
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        reader.call("Emulation.setEmulatedMedia", features=[feature])
        seen.append(reader.run(colour))
    reader.click("#theme")
    assert seen[0] != seen[1] and reader.run(colour) == seen[0]
    reader.call("Emulation.setEmulatedMedia", features=[])


def test_of_a_long_list_little_is_drawn(reader: Browser, tmp_path: Path) -> None:
    results, views, shown = make_results(contexts=("clean",))
    name, view = next(iter(views["clean"].items()))
    for number in range(500):
        new = f"{name}-{number}"
        views["clean"][new] = replace(view, id=new)
        for kinds in shown.values():
            kinds["clean"][new] = kinds["clean"][name]
    path = tmp_path / "report.html"
    path.write_text(write_html(results, views, shown), "utf-8")
    visit(reader, path)
    assert texts(reader, ".filters output") == ["512 of 512"]
    assert 10 < len(texts(reader, ".row")) < 60
    reader.run("document.querySelector('.list').scrollTop = 1e6")
    reader.wait(f"[...document.querySelectorAll('.row')].at(-1).href.endsWith('{name}-499')")
