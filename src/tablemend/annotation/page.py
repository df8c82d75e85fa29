"""The annotator's page: one HTML file that asks, keeps and gives back the answers."""

from __future__ import annotations

from collections.abc import Sequence

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
    style = resource("tablemend.reports", "style.css") + resource(
        "tablemend.annotation", "page.css"
    )
    script = resource("tablemend.annotation", "page.js")
    policy = (
        f"default-src 'none'; script-src '{inline_hash(script)}'; "
        f"style-src '{inline_hash(style)}'; base-uri 'none'; form-action 'none'"
    )
    return render(
        "tablemend.annotation",
        "page.html.j2",
        title="Verification of a data set",
        policy=policy,
        style=style,
        script=script,
        content=content,
    )
