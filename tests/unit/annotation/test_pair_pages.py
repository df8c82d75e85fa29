"""A page for pairs, walked through in a browser, and the import of what it gives."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tablemend.annotation.pair_command import PagesCommand, import_answers, make_pages
from tablemend.annotation.pair_pages import write_pair_page
from tablemend.datasets.logic.describe import describe
from tablemend.datasets.logic.hotel import make_hotel
from tablemend.datasets.logic.pair import Annotation, Pair, Span, read_annotations
from tablemend.errors import TablemendError
from tablemend.records import Relation
from tablemend.runs import read_jsonl, write_jsonl
from tablemend.tasks.logic.protocol import CHECK, FAITHFUL, LESSONS
from tablemend.tasks.logic.tree import QUESTIONS, path_to, walk
from tests.support.chromium import PATIENCE, Browser
from tests.support.scripts import run_script
from tests.unit.reports.test_reports import Page

RELATIONS: tuple[tuple[Relation, Relation], ...] = (
    ("too_strong", "independent"),
    ("well_matched_harmless", "contradictory"),
    ("output_contradictory", "too_weak"),
)
HOSTILE = "😀 </script><script>alert(1)</script> <!-- & "
LOGIC = (
    Pair("logic", "∀x (Cube(x) → ∃y (Tet(y) ∧ BackOf(x, y) ∧ Larger(x, y) ∧ Medium(y)))",
         "Every cube is behind a tetrahedron.", "a", ("too_weak",)),
    Pair("logic", "∃x Cube(x)", "There is a cube.", "a", ("well_matched",)),
)  # fmt: skip


def _pairs() -> list[Pair]:
    """Of each hotel two descriptions; before the words of one stands what no page may run."""
    found = []
    for number, relations in enumerate(RELATIONS):
        hotel = make_hotel(Random(number))
        for system, relation in zip("ab", relations, strict=True):
            found.append(replace(describe(hotel, relation, Random(number)), system=system))
    return found


def _moved(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    return tuple((start + len(HOSTILE), end + len(HOSTILE)) for start, end in spans)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    pairs = _pairs()
    one = pairs[0]
    pairs[0] = replace(
        one,
        output=HOSTILE + one.output,
        divergent_output=_moved(one.divergent_output),
        wrong=_moved(one.wrong),
    )
    write_jsonl(tmp_path / "pairs.jsonl", [pair.to_json() for pair in pairs])
    list(make_pages(_command(tmp_path)))
    return tmp_path


def _command(folder: Path, **changes: Any) -> PagesCommand:
    data = str(folder / "pairs.jsonl")
    return PagesCommand(data=data, annotators=2, run=str(folder / "run"), **changes)


def _assigned(run: Path, name: str) -> list[Pair]:
    pairs = [Pair.from_json(line) for line in read_jsonl(run / "run" / "pairs.jsonl")]
    by_id = {pair.id: pair for pair in pairs}
    return [
        by_id[id] for id in json.loads((run / "run/assigned.json").read_text())["annotators"][name]
    ]


# ---- without a browser ----


def test_a_page_loads_nothing_and_holds_no_label(run: Path) -> None:
    source = (run / "run/pages/a1.html").read_text("utf-8")
    read = Page(source)
    names = [name for name, _ in read.elements]
    assert names.count("script") == 2 and names.count("style") == 1
    assert not {"link", "img", "iframe", "object", "form"} & set(names)
    assert not re.search(r"https?:|@import|url\(|innerHTML|XMLHttpRequest|sendBeacon", source)
    content = json.loads(next(text for text in read.text if text.startswith('{"format"')))
    assert [set(one) for one in content["pairs"]] == [{"id", "input", "output"}] * 3
    assert source.count("<script") == 2 and "<!--" not in source


def test_long_formulas_are_indented() -> None:
    source = write_pair_page("ann", "logic", LOGIC)
    content = json.loads(next(t for t in Page(source).text if t.startswith('{"format"')))
    assert "\n  " in content["pairs"][0]["input"] and content["pairs"][1]["input"] == "∃x Cube(x)"
    assert content["check"] is None and content["tree"]["ask"] == "ambiguous"
    added = write_pair_page("ann", "logic", LOGIC, added=True)
    assert (
        json.loads(next(t for t in Page(added).text if t.startswith('{"format"')))["tree"]["ask"]
        == "well_formed"
    )


def test_pages_are_not_overwritten(run: Path) -> None:
    with pytest.raises(TablemendError, match="has pages, which may be with people"):
        list(make_pages(_command(run)))


def test_a_domain_without_pairs_is_refused(run: Path) -> None:
    command = _command(run, domain="logic").model_copy(update={"run": str(run / "other")})
    with pytest.raises(TablemendError, match="no pair of the domain logic"):
        list(make_pages(command))


def _answer(one: Pair, **changes: Any) -> dict[str, Any]:
    return {
        "pair": one.id, "path": dict(path_to(one.domain, one.labels[0])), "finished": True,
        "ambiguities": [], "divergent_input": list(map(list, one.divergent_input)),
        "divergent_output": list(map(list, one.divergent_output)),
        "wrong": list(map(list, one.wrong)), "slider": 4, "comment": "", "seconds": 1.0,
    } | changes  # fmt: skip


def _file(run: Path, name: str = "a1", answers: Any = None, **changes: Any) -> Path:
    source = (run / f"run/pages/{name}.html").read_text("utf-8")
    content = json.loads(next(t for t in Page(source).text if t.startswith('{"format"')))
    own = [_answer(pair) for pair in _assigned(run, name)] if answers is None else answers
    check = _answer(replace(CHECK, divergent_input=()), slider=None)
    record = {key: content[key] for key in ("format", "protocol", "sample", "domain", "annotator")}
    path = run / f"answers-{name}.json"
    path.write_text(
        json.dumps(record | {"exercises": 9, "right": 8, "check": check, "answers": own} | changes)
    )
    return path


def _import(run: Path) -> list[str]:
    return list(import_answers(_command(run, answers=str(run / "answers-*.json"))))


def test_answers_become_annotations(run: Path) -> None:
    _file(run)
    later = _assigned(run, "a2")
    _file(run, "a2", [_answer(later[0], finished=False, path={}), _answer(later[1])], check=None)
    lines = _import(run)
    assert lines[:2] == [
        "a1: 3 of 3 pairs, 8 of 9 exercises, check passed",
        "a2: 1 of 3 pairs, 8 of 9 exercises, check not passed",
    ]
    found = read_annotations(run / "run" / "annotations.jsonl")
    by_pair = {pair.id: pair for pair in _assigned(run, "a1")}
    first = [one for one in found if one.annotator == "a1"]
    assert [one.relation for one in first] == [by_pair[one.pair].labels[0] for one in first]
    assert all(one.passed_check for one in first)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (lambda own: {"annotator": "zoe"}, "no page was made for zoe"),
        (lambda own: {"protocol": "0"}, "answers other questions or pairs"),
        (lambda own: {"format": "other"}, "format: Input should be 'tablemend-pairs'"),
        (lambda own: {"answers": [_answer(own[0], slider=8)]}, r"answers.0.slider: Input should"),
        (lambda own: {"answers": [_answer(own[0], pair="x")]}, "answers.0: x is no pair of a1"),
        (lambda own: {"answers": [_answer(own[0])] * 2}, "two answers for one pair"),
        (lambda own: {"answers": [_answer(own[0], wrong=[[0, 9999]])]}, r"\[0, 9999\] is no part"),
        (
            lambda own: {"answers": [_answer(own[0], path={"follows": True, "wrong": True})]},
            "follows is not asked on this way",
        ),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_in_one_line(
    run: Path, changes: Callable[[list[Pair]], dict[str, Any]], why: str
) -> None:
    path = _file(run, **changes(_assigned(run, "a1")))
    with pytest.raises(TablemendError, match=why) as error:
        _import(run)
    assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)


def test_no_json_and_two_files_of_one_annotator_are_refused(run: Path) -> None:
    _file(run)
    (run / "answers-a0.json").write_text("{")
    with pytest.raises(TablemendError, match=r"answers-a0.json: Invalid JSON"):
        _import(run)
    (run / "answers-a0.json").write_bytes((run / "answers-a1.json").read_bytes())
    with pytest.raises(TablemendError, match="are both of a1: keep one"):
        _import(run)


def test_the_script_writes_pages_reads_answers_and_its_run_is_measured(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = f"run={run / 'again'}"
    pages = [f"data={run / 'pairs.jsonl'}", "annotators=3", other]
    assert run_script("eval/annotation_pages.py", pages, monkeypatch) == 0
    out = capsys.readouterr().out
    assert "3 pages of 3 pairs, 2 systems" in out and "3 is no multiple of 2" in out
    assert run_script("eval/annotation_pages.py", [*pages[:2], other], monkeypatch) == 2
    _file(run)
    _file(run, "a2")
    answers = [f"run={run / 'run'}", f"answers={run}/answers-*.json"]
    assert run_script("eval/annotation_pages.py", answers, monkeypatch) == 0
    assert run_script("eval/annotation_report.py", answers[:1], monkeypatch) == 0
    assert "annotations of 2 annotators" in capsys.readouterr().out
    bad = [answers[0], f"answers={run}/none-*.json"]
    assert run_script("eval/annotation_pages.py", bad, monkeypatch) == 2
    assert "no file" in capsys.readouterr().err


# ---- in a browser ----


def _open(browser: Browser, page: Path) -> None:
    browser.problems.clear()
    browser.open(page)
    browser.run("localStorage.clear()")
    browser.open(page)


def _text(browser: Browser, selector: str) -> Any:
    return browser.run(f"document.querySelector({json.dumps(selector)})?.textContent")


def _words_in(browser: Browser, side: str, spans: tuple[Span, ...]) -> list[int]:
    """The words of a text that spans cover, by their number."""
    return browser.run(
        f"""(() => {{
          const spans = {json.dumps(spans)}; let at = 0; const found = [];
          for (const node of document.querySelector('[data-side={side}]').childNodes) {{
            const end = at + [...node.textContent].length;
            if (node.dataset?.word !== undefined && spans.some(([a, b]) => a < end && at < b))
              found.push(Number(node.dataset.word));
            at = end;
          }}
          return found; }})()"""
    )


def _pull(browser: Browser, side: str, first: int, last: int) -> None:
    """Pull the mouse from one word to another."""
    for word, kinds in ((first, ("mousePressed",)), (last, ("mouseMoved", "mouseReleased"))):
        selector = json.dumps(f'[data-side={side}] [data-word="{word}"]')
        scroll = "e.scrollIntoView({block: 'center'});" if kinds == ("mousePressed",) else ""
        x, y = browser.run(
            f"(() => {{ const e = document.querySelector({selector}); {scroll}"
            "const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in kinds:
            browser.call(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                buttons=1, clickCount=1,
            )  # fmt: skip


def _mark(browser: Browser, side: str, spans: tuple[Span, ...]) -> None:
    for span in spans:
        words = _words_in(browser, side, (span,))
        _pull(browser, side, words[0], words[-1])


def _train(browser: Browser, lessons: int) -> None:
    browser.press("Enter")
    for number in range(lessons):
        assert _text(browser, "h1") == f"Exercise {number + 1} of {lessons}"
        lesson = LESSONS["hotel"][number]
        if isinstance(lesson.answer, bool):
            browser.press("y" if lesson.answer else "n")
        else:
            side = "input" if lesson.ask == "divergent_input" else "output"
            text = getattr(lesson, side)
            places = [(text.index(one), text.index(one) + len(one)) for one in lesson.answer]
            _mark(browser, side, tuple(places))
            browser.press("Enter")
        assert (
            _text(browser, "#feedback.right")
            == lesson.feedback[lesson.answer if isinstance(lesson.answer, bool) else True]
        )
        browser.press("Enter")


def _annotate(browser: Browser, pair: Pair) -> None:
    """Highlights, the path to the label, factually wrong parts where they are asked for."""
    _mark(browser, "input", pair.divergent_input)
    _mark(browser, "output", pair.divergent_output)
    browser.press("Enter")
    for name, given in path_to("hotel", pair.labels[0]).items():
        assert _text(browser, ".ask h2") == QUESTIONS["hotel"][name].ask
        browser.press("y" if given else "n")
        if name == "wrong" and given:
            assert browser.run("document.getElementById('next').disabled")
            _mark(browser, "output", pair.wrong)
            browser.press("Enter")


def _download(browser: Browser, run: Path, name: str) -> dict[str, Any]:
    path = browser.downloads / f"answers-{name}.json"
    path.unlink(missing_ok=True)
    browser.click("#json")
    end = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    (run / path.name).write_bytes(path.read_bytes())
    return json.loads(path.read_text("utf-8"))


def _words(text: str, spans: tuple[Span, ...] | None) -> list[str]:
    return [word for start, end in spans or () for word in re.findall(r"\w+", text[start:end])]


def _reload_until(browser: Browser, heading: str) -> None:
    """Reload: a busy Chromium can show a document an older copy of its storage, once."""
    end = time.monotonic() + PATIENCE
    browser.reload()
    while _text(browser, "h1") != heading:
        assert time.monotonic() < end, f"never again: {heading}"
        browser.reload()


def _answer_again(browser: Browser, pair: Pair) -> None:
    """Back to the first question, another answer, and back to the right one."""
    path = path_to("hotel", pair.labels[0])
    first, given = next(iter(path.items()))
    while _text(browser, ".ask h2") != QUESTIONS["hotel"][first].ask:
        browser.press("ArrowLeft")
    browser.press("n" if given else "y")
    leads_to = walk("hotel", {first: not given})
    expected = FAITHFUL if isinstance(leads_to, str) else leads_to.ask
    assert _text(browser, ".ask h2") == expected
    browser.press("ArrowLeft")
    asked = {QUESTIONS["hotel"][name].ask: answer for name, answer in path.items()}
    while not browser.run("!!document.querySelector('.scale')"):
        if browser.run("!!document.querySelector('.choice')"):
            browser.press("y" if asked[_text(browser, ".ask h2")] else "n")
        else:
            browser.press("Enter")


def test_a_person_goes_through_the_whole_page(browser: Browser, run: Path) -> None:
    own = _assigned(run, "a1")
    name = "a1" if any(HOSTILE in pair.output for pair in own) else "a2"
    own = _assigned(run, name)
    page = run / f"run/pages/{name}.html"
    _open(browser, page)
    _train(browser, len(LESSONS["hotel"]))
    assert _text(browser, "h1") == "Comprehension check"
    _annotate(browser, CHECK)
    for number, pair in enumerate(own):
        assert _text(browser, "h1") == f"Pair {number + 1} of 3"
        assert _text(browser, "[data-side=input]") == pair.input
        assert _text(browser, "[data-side=output]") == pair.output
        _annotate(browser, pair)
        browser.press("Enter")  # no number is chosen yet
        assert browser.run("!!document.querySelector('.scale')")
        if number == 1:
            _answer_again(browser, pair)
            _reload_until(browser, "Pair 2 of 3")  # what was answered is still there
        browser.press(str(number + 2))
        browser.run("document.getElementById('comment').focus()")
        browser.type(f"yes, {number}")
        browser.press("Enter")
    assert _text(browser, "h1") == "All pairs are done"
    record = _download(browser, run, name)
    assert record["right"] == record["exercises"] == len(LESSONS["hotel"])
    assert _import(run)[0] == f"{name}: 3 of 3 pairs, 11 of 11 exercises, check passed"
    found: dict[str, Annotation] = {
        one.pair: one for one in read_annotations(run / "run" / "annotations.jsonl")
    }
    for number, pair in enumerate(own):
        one = found[pair.id]
        assert (one.relation, one.passed_check) == (pair.labels[0], True)
        assert (one.slider, one.comment) == (number + 2, f"yes, {number}")
        wrong = pair.wrong if "wrong" in one.path else ()
        for text, found_spans, wanted in (
            (pair.input, one.divergent_input, pair.divergent_input),
            (pair.output, one.divergent_output, pair.divergent_output),
            (pair.output, one.wrong, wrong),
        ):
            assert _words(text, found_spans) == _words(text, wanted)
        assert one.seconds > 0
    assert browser.problems == []


def test_who_does_not_pass_the_check_goes_no_further(browser: Browser, run: Path) -> None:
    _open(browser, run / "run/pages/a2.html")
    _train(browser, len(LESSONS["hotel"]))
    _annotate(browser, replace(CHECK, divergent_output=CHECK.wrong))  # the opinion is not marked
    assert _text(browser, "h1") == "The check was not passed"
    for key in ("Enter", "ArrowLeft", "y"):
        browser.press(key)
    browser.reload()
    assert _text(browser, "h1") == "The check was not passed"
    _download(browser, run, "a2")
    assert _import(run)[0] == "a2: 0 of 3 pairs, 11 of 11 exercises, check not passed"
    assert browser.problems == []


def test_words_are_highlighted_by_mouse_and_keys_and_cleared_again(
    browser: Browser, run: Path
) -> None:
    _open(browser, run / "run/pages/a1.html")
    browser.press("Enter")
    marked = "[...document.querySelectorAll('.text .divergent[data-word]')].map(e => e.textContent)"
    _pull(browser, "input", 1, 2)
    assert browser.run(marked) == ["Pension", "Lagunenblick"]
    _pull(browser, "input", 2, 2)
    assert browser.run(marked) == ["Pension"]
    browser.press(" ", 32)
    assert browser.run(marked) == ["Pension", "Lagunenblick"]
    browser.press("ArrowRight")
    browser.press(" ", 32)
    assert browser.run(marked) == ["Pension", "Lagunenblick", "Star"]
    assert browser.problems == []


def test_the_logic_page_asks_for_the_kind_of_ambiguity(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "logic.html"
    page.write_text(write_pair_page("ann", "logic", LOGIC), "utf-8")
    _open(browser, page)
    browser.press("Enter")
    for _ in LESSONS["logic"]:
        browser.press("y")
        browser.press("Enter")
    assert _text(browser, "h1") == "Pair 1 of 2"
    assert "\n  " in _text(browser, ".formula")
    browser.press("y")
    assert browser.run("document.getElementById('next').disabled")
    browser.click(".kinds input[value=quantifier_scope]")
    browser.press("Enter")
    browser.click("#next")
    for key in "nyn":
        browser.press(key)
    assert _text(browser, ".ask h2") == "Anything to add?"
    record = _download(browser, tmp_path, "ann")
    assert record["answers"][0]["ambiguities"] == ["quantifier_scope"]
    assert record["answers"][0]["divergent_input"] is None and record["check"] is None
    assert record["answers"][0]["path"] == {
        "ambiguous": True, "self_contradiction": False, "follows": True, "implies": False
    }  # fmt: skip
    assert browser.problems == []


def test_a_screenshot_of_the_page_is_no_blank(browser: Browser, run: Path) -> None:
    _open(browser, run / "run/pages/a1.html")
    for mode in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": mode}
        browser.call("Emulation.setEmulatedMedia", features=[feature])
        data = browser.call("Page.captureScreenshot", format="png")["data"]
        assert len(base64.b64decode(data)) > 20_000
    paper = browser.run("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", paper))) < 60
