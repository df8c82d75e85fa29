"""Size and speed of a report's page in headless Chromium.

    python -m benchmarks.report_page [n=2000] [systems=8] [words=100] [out=PAGE.html]

Examples of the program engine, each on its clean and its adversarial context; every answer is a
number of words and a table, the gold one or one with an injected error, scored by the detector.
First paint is what Chromium reports of the page opened from its file; the list, an example and a
search are timed from the address, the key or the letter to the frame that shows them. The best and
the worst of several rounds.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Literal

from pydantic import Field

from tablemend.config import Section, load
from tablemend.detector.errors import ERROR_TYPES
from tablemend.errors import TablemendError
from tablemend.records import Answer, Example
from tablemend.reports.report import ShownAnswer, write_html
from tablemend.script import run_script
from tablemend.tasks.tablehallu import prompts
from tablemend.tasks.tablehallu.engine import open_maker
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.task import Submission
from tests.support.chromium import Browser, NoBrowserError, chromium
from tests.support.results import TASK, results_of

ROUNDS = 5
PAINT = "performance.getEntriesByName('first-contentful-paint')"
LISTED = "performance.getEntriesByName('listed')"
SEARCHES = ("a", "1998", "united states", "the 20", "no such word")
FRAME = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"


class Benchmark(Section):
    """What to measure."""

    n: int = Field(default=2000, ge=1)
    """Examples."""
    systems: int = Field(default=8, ge=1)
    """Systems that answer them."""
    words: int = Field(default=100, ge=0)
    """Words before the table of an answer."""
    source: str = "pool"
    """Tables that the examples are made of, as in data_gen."""
    difficulty: Literal["paper", "easy", "medium", "hard", "mixed"] = "paper"
    """How much longer than its facts in scope a context is."""
    out: str | None = None
    """Where the page is kept; null: nowhere."""


def make_examples(settings: Benchmark) -> list[Example]:
    """Examples of the program engine."""
    wanted = Synthesis(source=settings.source, difficulty=settings.difficulty)
    engine = open_maker(wanted)
    made = (one for number in range(20 * settings.n) for one in engine.make(number))
    return list(islice(made, settings.n))


def answer_all(
    examples: list[Example], context: str, share: float, settings: Benchmark, rng: Random
) -> Iterator[Submission[Example]]:
    """One system's answers, of which a share is wrong."""
    for example in examples:
        text = prompts.answer(example.gold_table)
        if rng.random() < share:
            types = rng.sample(ERROR_TYPES, len(ERROR_TYPES))
            wrong = next(iter(TASK.corruptions(example, context, text, types, rng)), None)
            text = text if wrong is None else wrong.text
        said = " ".join(rng.choices(example.context(context).split(), k=settings.words))
        yield Submission(example, context, f"{said}\n{text}")


def make_page(settings: Benchmark) -> str:
    """The page."""
    examples, rng = make_examples(settings), Random(0)
    shown: dict[str, dict[str, dict[str, ShownAnswer]]] = {}
    for number in range(settings.systems):
        system, share = f"system-{number + 1}", (number + 1) / (settings.systems + 1)
        for context in TASK.views:
            answers = list(answer_all(examples, context, share, settings, rng))
            with TASK.scorer() as scorer:
                judged = zip(answers, scorer.score(answers), strict=True)
                shown.setdefault(system, {})[context] = {
                    one.sample.id: ShownAnswer(
                        Answer(one.sample.id, system, context, one.text, 0, 0, "stop"), judgement
                    )
                    for one, judgement in judged
                }
    results, views = results_of(examples, shown)
    begun = time.monotonic()
    page = write_html(results, views, shown)
    print(f"written in {time.monotonic() - begun:.1f} s, {len(page.encode()) / 1e6:.1f} MB")
    return page


def visit(browser: Browser, address: str) -> None:
    """Open a page anew, and wait until its list stands."""
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url=address)
    browser.wait("document.body?.dataset.ready")


def first_paint(browser: Browser, address: str) -> tuple[float, float]:
    """Milliseconds from the opening to the first paint, and to the list."""
    visit(browser, address)
    browser.wait(f"{PAINT}[0]")
    return browser.run(f"{PAINT}[0].startTime"), browser.run(f"{LISTED}[0].startTime")


def timed(browser: Browser, action: str, shown: str) -> float:
    """Milliseconds from an action to the frame that shows what it leads to."""
    return browser.run(
        f"(async () => {{ const begun = performance.now(); {action};"
        f"do await {FRAME}; while (!({shown})); return performance.now() - begun; }})()"
    )


def search(browser: Browser, query: str) -> float:
    """Milliseconds from the letter to the list."""
    set_value = (
        "const box = document.querySelector('input[type=search]'); box.value = {}; "
        "box.dispatchEvent(new Event('input', {{bubbles: true}}))"
    )
    waiting = f"document.querySelector('.viewer').dataset.searched === {json.dumps(query)}"
    return timed(browser, set_value.format(json.dumps(query)), waiting)


def main() -> None:
    """Print the figures."""
    settings = load(Benchmark)
    with tempfile.TemporaryDirectory() as folder:
        try:
            with chromium(Path(folder)) as browser:
                page = Path(settings.out or Path(folder) / "report.html")
                page.write_text(make_page(settings), "utf-8")
                measure(browser, page.resolve().as_uri(), settings)
        except NoBrowserError as error:
            raise TablemendError(f"{error}: install Chromium") from error


def measure(browser: Browser, address: str, settings: Benchmark) -> None:
    """Time the page in a browser."""
    opened = [first_paint(browser, address) for _ in range(ROUNDS)]
    examples, searches = [], []
    for number in range(ROUNDS):
        visit(browser, f"{address}#examples")
        browser.wait("document.querySelector('.viewer').dataset.words")
        row = f"document.querySelectorAll('.row')[{number % settings.n}].click()"
        examples.append(timed(browser, row, "document.querySelector('.answers')"))
        searches += [search(browser, query) for query in SEARCHES]
    load_average = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"{settings.n} examples, {settings.systems} systems, {load_average}; ms, best to worst:")
    for name, found in (
        ("first paint", [paint for paint, _ in opened]),
        ("list of examples drawn", [listed for _, listed in opened]),
        ("an example opened", examples),
        ("a search", searches),
    ):
        print(f"{name}: {min(found):.0f} to {max(found):.0f}")


if __name__ == "__main__":
    run_script(main)
