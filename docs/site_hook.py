"""What pages link outside docs/ comes along with the site, at its path in the repository."""

from __future__ import annotations

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
    wanted = [DOCS / file.src_uri for file in files.documentation_pages()]
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
    return DOCS / uri if (DOCS / uri).is_file() else ROOT / uri


def _uri(path: Path) -> str:
    return path.relative_to(DOCS if DOCS in path.parents else ROOT).as_posix()


def _target(page: Path, link: str) -> Path | None:
    """The file of the repository that a page's link means."""
    if ":" in link:
        return None
    path = Path(os.path.normpath(page.parent / unquote(link)))
    return path if path.is_file() and ROOT in path.parents else None
