"""The study of labelled budgets: what is trained, on how much, and what its table says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import labelled_budget
from studies.labelled_budget import LabelledBudget, Seed
from tablemend.config import ConfigError, parse
from tablemend.recipe.experiment import (
    Comparison,
    DistilExperiment,
    DpoExperiment,
    Experiment,
)
from tablemend.reports.rendering import fill_page
from tablemend.runs import Run, write_jsonl

ROOT = Path(__file__).parents[2]
RECIPES = {"train/sft.py": Experiment, "train/distil.py": DistilExperiment}
RECIPES["train/dpo.py"] = DpoExperiment


@pytest.fixture
def seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seed:
    monkeypatch.chdir(ROOT)
    made = Seed(LabelledBudget(folder=str(tmp_path / "study"), labels=(100, 300)), 1)
    labelled_budget.write_yaml(made.path / "own.yaml", made.own_answers())
    return made


def test_no_method_reads_other_gold_than_the_labelled_tables(seed: Seed) -> None:
    for name, commands in seed.methods().items():
        for one in commands:
            if one.script not in RECIPES:
                assert "dpo.pairs.scorer=repair" in one.overrides
                continue
            recipe = parse(RECIPES[one.script], list(one.overrides))
            (source,) = recipe.data.training_sources
            test = recipe.data.test
            assert test is not None and (test.n, test.seed) == (300, 3)
            if name.startswith("sft-"):
                assert source.n == int(name.split("-")[1]) and source.seed == 1001
            if isinstance(recipe, DpoExperiment):
                assert recipe.dpo.pairs.scorer == "repair"
    other = Seed(seed.study, 2).methods()["distil"][0].overrides
    assert set(other).isdisjoint(
        one for one in seed.methods()["distil"][0].overrides if one.startswith("data.train=")
    )


def test_every_method_is_compared_alone_and_mended(seed: Seed, tmp_path: Path) -> None:
    path = tmp_path / "comparison.yaml"
    path.write_text(yaml.safe_dump(seed.comparison(), sort_keys=False), encoding="utf-8")
    systems = parse(Comparison, [f"recipe={path}"]).evaluation.systems
    names = ["base", *seed.methods()]
    assert set(systems) == {f"{name}{end}" for name in names for end in ("", "+repair")}
    for name, commands in seed.methods().items():
        assert systems[name].model == str(seed.run(commands[-1].run).model)


def test_methods_that_go_on_from_no_fine_tuning_are_refused() -> None:
    with pytest.raises(ConfigError, match="from_labels: is none of labels: 100"):
        parse(LabelledBudget, ["labels=[100]"])


def write_comparison(run: Run, wrong: dict[str, set[str]]) -> None:
    """A finished comparison over four examples, of which d could not be scored."""
    lines = [
        {
            "example_id": one,
            "system": system,
            "context": context,
            "findings": [{"type": "attribute"}] if one in found else [],
            "shares": {"row_recall": [1, 2 if one in found else 1]},
            "unscored": "no" if one == "d" else "",
        }
        for system, found in wrong.items()
        for context in ("clean", "adversarial")
        for one in "abcd"
    ]
    write_jsonl(run.path / "judgements.jsonl", lines)
    write_jsonl(run.path / "second_judgements.jsonl", lines)


def test_figures_are_means_over_seeds_paired_with_the_better_fine_tuning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    study = LabelledBudget(folder=str(tmp_path), labels=(300,), seeds=(0, 1))
    seeds = [Seed(study, 0), Seed(study, 1)]
    for number, seed in enumerate(seeds):
        wrong = {name: {"a", "b", "c"} for name in seed.comparison()["evaluation"]["systems"]}
        wrong["sft-300-half"] = {"a", "b"}
        wrong["distil"] = {"a"} if number else set()
        write_comparison(seed.run("comparison"), wrong)
        for commands in seed.methods().values():
            for one in commands:
                if one.script in RECIPES:
                    seed.run(one.run).record(Path(one.script).stem, {"seconds": 60.0})
    results = labelled_budget.collect(study, seeds)
    assert results["compared_with"] == "sft-300-half"
    own = results["systems"]["distil"]["adversarial"]
    for scorer in labelled_budget.SCORERS:
        assert own[scorer]["n"] == 3  # d counts nowhere
        assert own[scorer]["seeds"] == [0.0, pytest.approx(1 / 3)]
        assert own[scorer]["to_sft"]["difference"] == pytest.approx(1 / 6 - 2 / 3)
    assert own["detector row recall"]["rate"] == pytest.approx((0.75 + 1 + 1) / 3)
    assert results["minutes"]["own-answers"] == 2.0  # with the fine-tuning that it goes on from
    assert "to sft-300-half" in labelled_budget.table(results, "adversarial")


def test_the_page_has_a_place_for_the_figures_of_each_context(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    shown = (ROOT / "results" / "labelled-budget.md").read_text("utf-8")
    page.write_text(shown, encoding="utf-8")
    made = {place: f"| {place} |" for place in labelled_budget.PLACES}
    fill_page(page, made, labelled_budget.PLACES)
    filled = page.read_text("utf-8")
    assert all(filled.count(one) == 1 for one in made.values())
