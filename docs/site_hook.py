"""The site beyond docs/*.md: files that pages link elsewhere, and the notebook as a page."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

DOCS = Path(__file__).parent
ROOT = DOCS.parent
_LINK = re.compile(r"(\]\()([^)#\s]+)([^)]*\))")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Leave out of the navigation what is not there."""
    config.nav = _present(config.nav)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files of the navigation and of all links, and of the links in these."""
    notebooks = [DOCS / file.src_uri for file in files if file.src_uri.endswith(".ipynb")]
    for path in notebooks:
        files.append(File.generated(config, _uri(path), content=_written(path)))
    wanted = [_path(file.src_uri) for file in files.documentation_pages()]
    wanted += [_path(uri) for uri in _pages(config.nav)]
    seen = set()
    while wanted:
        path = wanted.pop()
        if path in seen:
            continue
        seen.add(path)
        if DOCS not in path.parents:
            uri = path.relative_to(ROOT).as_posix()
            file = File.generated(config, uri, abs_src_path=str(path))
            file.inclusion = InclusionLevel.NOT_IN_NAV  # though the navigation may have it
            files.append(file)
        if path.suffix == ".md":
            links = _LINK.findall(path.read_text(encoding="utf-8"))
            wanted += [found for _, link, _ in links if (found := _target(path, link))]
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as they are on the site, where docs/ is the root."""
    here = _path(page.file.src_uri)

    def moved(match: re.Match[str]) -> str:
        target = _target(here, match[2])
        if target is None:
            return match[0]
        start = os.path.dirname(page.file.src_uri)  # noqa: PTH120  a URI
        return f"{match[1]}{os.path.relpath(_uri(target), start or '.')}{match[3]}"

    return _LINK.sub(moved, markdown)


def _present(nav: Any) -> Any:
    """The entries whose files are there; sections that they leave empty go too."""
    if isinstance(nav, str):
        return nav if _path(nav).is_file() else None
    if isinstance(nav, dict):
        return {name: kept for name, part in nav.items() if (kept := _present(part))} or None
    return [kept for part in nav if (kept := _present(part))]


def _pages(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in _pages(part)]


def _path(uri: str) -> Path:
    """The file behind a page, which may be a notebook."""
    notebook = (DOCS / uri).with_suffix(".ipynb")
    found = (path for path in (DOCS / uri, notebook, ROOT / uri) if path.is_file())
    return next(found, ROOT / uri)


def _uri(path: Path) -> str:
    """Where a file is on the site; a notebook is the page that is made of it."""
    path = path.with_suffix(".md") if path.suffix == ".ipynb" else path
    return path.relative_to(DOCS if DOCS in path.parents else ROOT).as_posix()


def _written(notebook: Path) -> str:
    """A notebook with its outputs, as Markdown."""
    parts = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for output in cell.get("outputs", ()):
            shown = output.get("data", {})
            if "text/html" in shown:  # a blank line would end it
                html = "".join(shown["text/html"]).splitlines()
                parts.append("\n".join(line for line in html if line.strip()))
            else:
                said = "".join(output.get("text") or shown["text/plain"])
                parts.append(f"```text\n{said.rstrip()}\n```")
    return "\n\n".join(parts)


def _target(page: Path, link: str) -> Path | None:
    """The file of the repository that a page's link means."""
    if ":" in link:
        return None
    path = Path(os.path.normpath(page.parent / unquote(link)))
    return path if path.is_file() and ROOT in path.parents else None
