"""The page of a validation: prose that a person keeps, figures that the command fills in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tablemend.meta_evaluation import tables
from tablemend.reports import page_markers

Section = Callable[[Mapping[str, Any]], str]
SECTIONS: dict[str, Section] = {
    "summary": lambda results: tables.summary(results, intervals=True),
    "everything": tables.over_everything,
    "all statements": tables.over_all_statements,
    "parts": tables.parts,
    "labels": tables.labels,
    "people": tables.people_kinds,
    "sizes": tables.sizes,
}
STUDY: dict[str, Section] = {
    "injected": tables.injected,
    "injected texts": tables.injected_texts,
    "injected types": tables.injected_types,
    "injected sources": tables.injected_sources,
}
"""Names of the places in the page, and what fills them."""
KNOWN = ("made by", *SECTIONS, *STUDY)


def sections(results: Mapping[str, Any]) -> dict[str, str]:
    """Every part of the page that has figures."""
    found = {"made by": made_by(results)}
    if results["sets"]:
        found |= {name: fill(results) for name, fill in SECTIONS.items()}
    if "injection" in results:
        found |= {name: fill(results["injection"]) for name, fill in STUDY.items()}
    return found


def made_by(results: Mapping[str, Any]) -> str:
    """Where the figures come from."""
    verifiers = {
        own["verifier"]
        for figures in results["sets"].values()
        for own in figures["scorers"].values()
        if "verifier" in own
    }
    rates = [
        (own["claims"], own["claims_per_second"])
        for figures in results["sets"].values()
        for own in figures["scorers"].values()
        if own.get("claims_per_second")
    ]
    speed = ""
    if rates:
        claims, seconds = sum(n for n, _ in rates), sum(n / rate for n, rate in rates)
        speed = f" The program read and scored {claims:,} claims, {claims / seconds:,.0f} a second."
    limit = "all texts" if results["n"] is None else f"at most {results['n']} texts a set"
    return (
        f"Split: {results['split']}; {limit}. Verifiers: {', '.join(sorted(verifiers)) or 'none'}. "
        f"Command: `{results['command']}`, commit {results['commit']}.{speed}"
    )


def read_page(path: Path) -> str:
    """A page that figures are to be put into; see `page_markers.read_page`."""
    return page_markers.read_page(path, KNOWN)


def fill_page(path: Path, results: Mapping[str, Any]) -> None:
    """Put the figures between the page's markers and leave the rest of it alone."""
    page_markers.fill_page(path, sections(results), KNOWN)


def report(results: Mapping[str, Any]) -> str:
    """All figures one after another: the run folder's report.md."""
    parts = [f"## {name.capitalize()}\n\n{text}" for name, text in sections(results).items()]
    if left_out := tables.unread(results):
        parts.insert(0, left_out)
    return "# Agreement with people\n\n" + "\n\n".join(parts) + "\n"
