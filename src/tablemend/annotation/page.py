"""The annotator's page: one HTML file that asks, keeps and gives back the answers."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from tablemend.annotation.content import show
from tablemend.annotation.sample import Data
from tablemend.annotation.steps import CHOICES, GUIDES, VERSION
from tablemend.records import Example
from tablemend.reports.markup import Markup, tag
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
    style = _read("tablemend.reports", "style.css") + _read("tablemend.annotation", "page.css")
    script = _read("tablemend.annotation", "page.js")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    title = "Verification of a data set"
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
    page = tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
            tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
            tag("title", title),
            tag("style", Markup(style)),
        ),
        tag(
            "body",
            tag("noscript", tag("p", "This page needs JavaScript; it runs without a network.")),
            tag("div", id="app"),
            tag("script", embed(content), type="application/json", id="content"),
            tag("script", Markup(script)),
        ),
        lang="en",
    )
    return f"<!doctype html>\n{page}\n"


def embed(content: Any) -> Markup:
    """JSON that may stand inside a script element, whatever its texts say."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _read(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """The hash by which a content security policy admits an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
