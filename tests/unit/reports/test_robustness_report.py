"""The robustness report: its heat maps and curves say what the scores say."""

from __future__ import annotations

import json
import re
from html import escape, unescape
from pathlib import Path

import numpy as np
import pytest

from tablemend.reports import robustness_report
from tablemend.reports.content import DASH
from tablemend.reports.robustness_report import write_robustness
from tablemend.robustness.scores import ScoreCube
from tests.unit.reports.test_reports import Page

HOSTILE = "<script>alert('$x$')</script> & \"$y$\" | {{ }}"
NAME = str(escape(HOSTILE)).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
CELL = re.compile(r'<td title="([^"]*)" (?:class="(\w+)"|style="--depth: (\d+)%")>([^<]*)</td>')


def make_cube(systems: int = 2, perturbations: int = 2) -> ScoreCube:
    """The first system has 1 on csv, 0 on html, nothing on its last configuration of the set."""
    names = [HOSTILE, *(f"s{n}" for n in range(1, systems))]
    block = np.zeros((systems, 12, 2, perturbations))
    block[:, :, 0] = 1
    block[1:, ::2, 0] = 0
    hole = block.copy()
    hole[0, :, -1, -1] = np.nan
    changes = ["none", f"turn {HOSTILE}"][:perturbations]
    return ScoreCube(names, ["csv", f"html {HOSTILE}"], changes, {HOSTILE: hole, "full": block})


def page_of(cube: ScoreCube, run: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(robustness_report, "read_cube", lambda _: cube)
    write_robustness(run)
    return (run / "robustness.html").read_text()


def test_heat_maps_have_a_cell_for_each_configuration_and_what_is_unscored_is_not_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = page_of(make_cube(), tmp_path, monkeypatch)
    cells = CELL.findall(page)
    assert len(cells) == 2 * 2 * 4
    first = [(style, depth, text) for _, style, depth, text in cells[:4]]
    assert first == [("", "60", "100")] * 2 + [("", "0", "0"), ("unscored", "", DASH)]
    assert cells[3][0] == f"html {NAME} + turn {NAME}: not scored"
    assert cells[0][0] == "csv + none: 100.0 %, 12 of 12 examples"
    assert [text for *_, text in cells[8:]] == ["50", "50", "0", "0"] * 2
    assert [depth for _, _, depth, _ in cells[8:10]] == ["30", "30"]
    numbers = json.loads((tmp_path / "robustness.json").read_text())
    assert numbers["scores"][HOSTILE][0] == [[1, 1], [0, None]]


def test_curves_stand_beside_the_tables_of_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = page_of(make_cube(3), tmp_path, monkeypatch)
    captions = re.findall(r"</svg>.*?<figcaption>(.*?)</figcaption>", page, re.DOTALL)
    assert [re.findall(r"Figure \d", one) for one in captions] == [
        ["Figure 3"],
        ["Figure 4"],
        ["Figure 5"],
    ]
    text = (tmp_path / "robustness.md").read_text()
    titles = re.findall("^## (.*)$", text, re.MULTILINE)
    assert len(titles) == 10 and set(titles) < set(re.findall("<h2>(.*?)</h2>", page))
    for said in ("all data sets<", "configurations: 1<", "configurations: 4<"):
        assert said in page
    found = json.loads((tmp_path / "robustness.json").read_text())["reliability"]
    assert found["configurations"] == [1, 2, 3, 4] and found["kendalls_w"][-1] == 1
    said = f"evaluation.contexts=[{','.join(found['contexts'])}]"
    assert said in text and said in unescape(page).replace("&lt;", "<")


def test_names_stay_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(make_cube(), tmp_path, monkeypatch)
    assert "<script" not in page
    assert "script" not in {name for name, _ in Page(page).elements}
    assert f"<h3>{NAME}</h3>" in page and f'<th scope="row">{NAME}</th>' in page
    legend = re.findall("<text [^>]*>([^<]*alert[^<]*)</text>", page)
    assert [unescape(one) for one in legend] == [HOSTILE] * 2  # a system, a data set


def test_one_system_and_one_perturbation_have_a_map_and_no_ranking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = page_of(make_cube(1, 1), tmp_path, monkeypatch)
    assert len(CELL.findall(page)) == 4 and 'scope="col"><span' not in page
    assert "Figure 3" in page and "Figure 4" not in page


def test_a_data_set_without_a_score_has_no_colours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cube = make_cube()
    cube.scores["full"][:] = np.nan
    cells = CELL.findall(page_of(cube, tmp_path, monkeypatch))
    assert {(style, text) for _, style, _, text in cells[4:8] + cells[12:]} == {("unscored", DASH)}
    assert json.loads((tmp_path / "robustness.json").read_text())["sorted"][0] == [None] * 4
