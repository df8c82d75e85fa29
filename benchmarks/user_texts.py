"""Precision and recall of a verifier on texts as users and chat models write them.

    python benchmarks/user_texts.py [--verifier program] [--split dev] [--show]

Eighty texts over twenty ordinary tables (tests/data/user_texts), half right, half with one to four
labelled errors: NUM, CMP, TMP; REL for the number or name of another row or column; ATT for a
text, a unit or a thing that the table does not give. Fifteen tables are the dev split, to tune on;
five are the test split, to be looked at once. A flagged claim is wrong where a labelled error
lies in it; the second figures look at the words said to be at fault instead of the whole claim.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tablemend.evidence.files import load_source
from tablemend.evidence.source import Source
from tablemend.records.claims import Verdict
from tablemend.statistics import design_effect, rate_interval
from tablemend.verifier.staf import open_verifier, verify_documents

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "user_texts"
Place = tuple[int, int]


def read_texts(split: str) -> list[dict[str, Any]]:
    """The labelled texts of a split."""
    lines = (FOLDER / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    return [text for text in map(json.loads, lines) if text["split"] == split]


def read_source(text: dict[str, Any]) -> Source:
    """The table of a text, with its title."""
    source = load_source(FOLDER / text["table"])
    tables = [dataclasses.replace(table, title=text["title"]) for table in source.tables]
    return dataclasses.replace(source, tables=tuple(tables))


def clause(verdict: Verdict) -> list[Place]:
    """The whole claim."""
    start, end = verdict.claim.start, verdict.claim.end
    assert start is not None and end is not None  # a running text's claims have places
    return [(start, end)]


def words(verdict: Verdict) -> list[Place]:
    """The words at fault; the whole claim where a verifier names none."""
    return [(span.start, span.end) for span in verdict.spans] or clause(verdict)


def place(error: dict[str, Any]) -> Place:
    """Where the wrong words are."""
    return error["start"], error["start"] + len(error["words"])


def touch(places: Iterable[Place], start: int, end: int) -> bool:
    """Does one of the places share a character with ``start:end``?"""
    return any(first < end and start < last for first, last in places)


def rate(name: str, hits: list[bool], tables: list[str]) -> str:
    """A line: the rate in percent, its interval clustered by table, and n."""
    found = rate_interval(sum(hits), len(hits), design_effect([float(hit) for hit in hits], tables))
    if found["rate"] is None:
        return f"{name:30}   none"
    low, high = 100 * (found["low"] or 0), 100 * (found["high"] or 0)
    return f"{name:30} {100 * found['rate']:5.1f} % [{low:.1f}, {high:.1f}]  n {found['n']}"


def mistakes(text: dict[str, Any], flagged: list[Verdict]) -> Iterator[str]:
    """False flags and misses of a text, a line each."""
    for verdict in flagged:
        if not any(touch(clause(verdict), *place(error)) for error in text["errors"]):
            named = [text["text"][start:end] for start, end in words(verdict)]
            yield f"{text['id']}  false flag: {named} in {verdict.claim.text!r}: {verdict.reason}"
    for error in text["errors"]:
        if not any(touch(clause(verdict), *place(error)) for verdict in flagged):
            around = text["text"][max(0, error["start"] - 60) : place(error)[1] + 20]
            wanted = f"{error['type']} {error['kind']}, {error['words']!r} for {error['right']!r}"
            yield f"{text['id']}  miss: {wanted} in {around!r}"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--verifier", default="program", help="as tablemend verify takes it")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--show", action="store_true", help="false flags and misses (dev only)")
    options = parser.parse_args()
    if options.show and options.split == "test":
        parser.error("--show prints the dev split only: the test split is not to be read")
    texts = read_texts(options.split)
    verifier = open_verifier(options.verifier)
    found = verify_documents([(text["text"], read_source(text)) for text in texts], verifier)
    verifier.close()
    flagged = [[verdict for verdict in one.verdicts if verdict.wrong] for one in found]
    print(f"{len(texts)} texts, {sum(len(one.verdicts) for one in found)} claims")
    for title, where in (("whole claims", clause), ("words at fault", words)):
        print(title)
        right, found_errors = [], []
        for text, verdicts in zip(texts, flagged, strict=True):
            places = [place(error) for error in text["errors"]]
            for verdict in verdicts:
                touches = any(touch(where(verdict), *error) for error in places)
                right.append((touches, text["table"]))
            for error in places:
                touched = any(touch(where(verdict), *error) for verdict in verdicts)
                found_errors.append((touched, text["table"]))
        for name, hits in (
            ("flagged claims that are wrong", right),
            ("errors that are flagged", found_errors),
        ):
            print(rate("  " + name, [hit for hit, _ in hits], [table for _, table in hits]))
    if options.show:
        for text, verdicts in zip(texts, flagged, strict=True):
            for line in mistakes(text, verdicts):
                print(line)


if __name__ == "__main__":
    main()
