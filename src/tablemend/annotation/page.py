"""The annotator's page: one HTML file that asks, keeps and gives back the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablemend.annotation.content import show
from tablemend.annotation.sample import Data
from tablemend.annotation.steps import CHOICES, GUIDES, VERSION
from tablemend.records import Example
from tablemend.reports.rendering import inline_hash, render, resource
from tablemend.runs import hash_text

ANSWERS = "tablemend-annotation"
"""What an answer file says that it is."""


def write_page(data: Data, chosen: Sequence[Example], marks: bool = True) -> str:
    """The whole page. It loads nothing and sends nothing, and a content policy holds it to that.

    Args:
        data: where the examples come from; named in the answers, by its hash too.
        chosen: the examples, in the order of the page.
        marks: whether facts and distractors can be marked in the contexts.
    """
    content = {
        "format": ANSWERS,
        "version": VERSION,
        "data": data.hash,
        "source": data.source,
        "split": data.split,
        "sample": hash_text("\n".join(example.id for example in chosen)),
        "choices": list(CHOICES),
        "steps": [{"name": name, **guide._asdict()} for name, guide in GUIDES.items()],
        "examples": [show(example, marks) for example in chosen],
    }
    return one_file("Verification of a data set", "page.js", ("page.css",), content)


def one_file(title: str, script: str, styles: Sequence[str], content: Mapping[str, Any]) -> str:
    """A page of one of our scripts with its styles, and with what it shows.

    Args:
        title: of the window.
        script: a file of this package; it can use dom.js.
        styles: files of this package, behind the style of the reports.
        content: what the script reads.
    """
    style = resource("tablemend.reports", "style.css")
    for name in styles:
        style += resource("tablemend.annotation", name)
    code = resource("tablemend.annotation", "dom.js") + resource("tablemend.annotation", script)
    policy = (
        f"default-src 'none'; script-src '{inline_hash(code)}'; style-src '{inline_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    values = {"policy": policy, "style": style, "script": code, "content": content}
    return render("tablemend.annotation", "page.html.j2", title=title, **values)
