"""The equal-budget study: what is trained, on how much, and what its tables say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from studies import running, steps, tables
from studies.equal_budget import PROMPTED, TRAINED, EqualBudget, Seed
from tablemend.config import ConfigError, parse
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Comparison, DpoExperiment, Experiment, GrpoExperiment
from tablemend.reports.page_markers import fill_page
from tablemend.runs import Run, Store, write_json, write_jsonl

ROOT = Path(__file__).parents[2]
SIDES = ("detector", "exact")


@pytest.fixture
def seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seed:
    monkeypatch.chdir(ROOT)
    return Seed(EqualBudget(folder=str(tmp_path / "study"), tokens=200_000), 1)


def test_all_stacks_spend_the_same_budget(seed: Seed) -> None:
    budgets = {t.name: t.tokens for t in map(seed.fine_tuning, ("sft", "rationales", "start"))}
    budgets |= {t.name: t.tokens for t in (seed.preferences(), seed.rewards())}
    assert budgets["sft"] == budgets["rationales"] == 200_000
    assert budgets["start"] + budgets["dpo"] == budgets["start"] + budgets["grpo"] == 200_000
    uneven = Seed(EqualBudget(tokens=999, spent=0.3), 0)
    assert uneven.fine_tuning("start").tokens + uneven.rewards().tokens == 999


def test_the_recipes_are_valid_and_differ_in_what_is_compared(seed: Seed) -> None:
    tuned = {
        name: parse(Experiment, list(seed.fine_tuning(name).overrides))
        for name in ("sft", "rationales", "start")
    }
    assert [one.thinking for one in tuned.values()] == ["quote", "rationale", "quote"]
    same = [one.model_dump(exclude={"thinking", "run"}) for one in tuned.values()]
    assert all(one == same[0] for one in same)
    dpo = parse(DpoExperiment, list(seed.preferences().overrides))
    grpo = parse(GrpoExperiment, list(seed.rewards().overrides))
    for second in (dpo, grpo):
        assert second.model.path == str(seed.run("start").model)
        assert second.thinking == "quote"
        assert second.data.train.seed != tuned["start"].data.training_sources[0].seed
        assert second.data.train.size == second.data.test.size == "large"
    other = Seed(seed.study, 2)
    sources = [parse(Experiment, list(s.fine_tuning("sft").overrides)) for s in (seed, other)]
    assert sources[0].data.train != sources[1].data.train
    assert sources[0].data.test == sources[1].data.test


def test_every_stack_is_compared_alone_and_mended(seed: Seed, tmp_path: Path) -> None:
    path = tmp_path / "comparison.yaml"
    path.write_text(yaml.safe_dump(seed.comparison(), sort_keys=False), encoding="utf-8")
    config = parse(Comparison, [f"recipe={path}"])
    systems = config.evaluation.systems
    assert set(systems) == {f"{n}{end}" for n in (*PROMPTED, *TRAINED) for end in tables.ENDS}
    assert (systems["sft+cave"].after, systems["sft+cave"].mitigation) == ("sft", "cave")
    some = Seed(EqualBudget(cave=("base",)), 0).comparison()["evaluation"]["systems"]
    assert {name for name in some if name.endswith("+cave")} == {"base+cave"}
    with pytest.raises(ConfigError, match="cave: bse is no system"):
        parse(EqualBudget, ["cave=[bse]"])
    assert {systems[f"{name}+repair"].mitigation for name in (*PROMPTED, *TRAINED)} == {"repair"}
    assert [systems[name].model for name in TRAINED] == [str(seed.run(n).model) for n in TRAINED]
    assert config.thinking_of(systems["rationales"]) == "rationale"
    assert config.thinking_of(systems["base"]) == "off"
    assert config.evaluation.second_scorer == "exact"


def test_a_budget_that_pays_for_no_step_is_refused() -> None:
    assert steps.steps_within(1000, 4, 100.0) == 2
    with pytest.raises(TablemendError, match="tokens=1000 pay for no step of 16 rows with 90 "):
        steps.steps_within(1000, 16, 90.0)


def write_comparison(run: Run, wrong: dict[str, set[str]], unscored: set[str]) -> None:
    """A finished comparison of two systems over four examples; ``wrong`` by system."""
    ids = ["a", "b", "c", "d"]
    lines = [
        {
            "example_id": one,
            "system": system,
            "context": context,
            "findings": [{"type": "attribute"}] if one in wrong[system] else [],
            "shares": {"row_recall": [1, 2 if one in wrong[system] else 1]},
            "unscored": "no" if one in unscored else "",
        }
        for system in wrong
        for context in ("clean", "adversarial")
        for one in ids
    ]
    write_jsonl(run.path / "judgements.jsonl", lines)
    write_jsonl(run.path / "second_judgements.jsonl", lines)
    scored = [one for one in ids if one not in unscored]

    def rate(system: str) -> dict[str, Any]:
        return {"rate": len(wrong[system] & set(scored)) / len(scored)}

    own = {
        system: {"total_hallu": rate(system), "row_recall": {"rate": 1.0}}
        | {"unscored": {"rate": len(unscored) / 4}}
        for system in wrong
    }
    cost = {"answers": 4, "calls": 8, "edits": 0, "prompt_tokens": 400}
    cost |= {"completion_tokens": 40, "seconds": 2.0}
    both = ("clean", "adversarial")
    second = {
        system: {context: {**own[system], "agreement": {"disagreement": 1}} for context in both}
        for system in wrong
    }
    write_json(
        run.path / "results.json",
        {
            "scorer": "tablemend",
            "data": {},
            "systems": {system: dict.fromkeys(both, own[system]) for system in wrong},
            "cost": {system: dict.fromkeys(both, cost) for system in wrong},
            "second": {"scorer": "exact 1", "systems": second},
        },
    )


def write_study(folder: Path) -> tuple[EqualBudget, list[Seed]]:
    study = EqualBudget(folder=str(folder), seeds=(0, 1))
    seeds = [Seed(study, 0), Seed(study, 1)]
    names = list(seeds[0].comparison()["evaluation"]["systems"])
    for number, seed in enumerate(seeds):
        wrong = {name: {"a", "b", "c"} for name in names}
        wrong["sft"] = {"a", "b"} if number else {"a"}
        write_comparison(seed.run("comparison"), wrong, {"d"})
        for name in TRAINED:
            stage = name if name in ("dpo", "grpo") else "sft"
            log = [{"reward": 0.5, "completions/mean_length": 10.0}]
            facts = {"steps": 2, "tokens": 1000 + number, "seconds": 60.0}
            seed.run(name).record(stage, facts | {"log": log, "rewards": {}})
        pairs = {"pairs": 3, "rejected": {}, "asked": 4, "dropped": {}}
        Run(seed.path / "pairs").record("preference", pairs)
        drawn = seed.path / "pairs" / "generations" / "sample-0.adversarial.jsonl"
        with Store(drawn, "example_id") as store:
            store.put({"example_id": "a", "completion_tokens": 7})
            store.put({"example_id": "b", "completion_tokens": 8})
    return study, seeds


def test_figures_are_means_over_seeds_and_unscored_answers_count_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    results = running.collect(*write_study(tmp_path))
    own = results["systems"]["sft"]["adversarial"]
    for side in SIDES:
        assert own[side]["rate"] == pytest.approx(0.5)  # of a, b, c: 1 of 3, then 2 of 3
        assert own[side]["seeds"] == [pytest.approx(1 / 3), pytest.approx(2 / 3)]
        assert own[side]["n"] == 3
        assert own[side]["low"] < 0.5 < own[side]["high"]
    assert own["row_recall"]["rate"] == pytest.approx((0.5 + 0.75 + 1) / 3)
    assert own["exact_recall"]["rate"] == own["row_recall"]["rate"]
    assert own["unscored"] == 0.25
    assert own["calls"] == 2 and own["completion_tokens"] == 10
    assert own["disagreement"] == 2 and own["answers"] == 8
    dpo = results["training"]["dpo"]
    assert [one["tokens"] for one in dpo] == [1000, 1001]
    assert dpo[0]["drawn"] == 15
    assert results["training"]["grpo"][0]["drawn"] == 10 * 2 * 64
    json.dumps(results)


def test_the_pages_show_the_committed_figures(tmp_path: Path) -> None:
    results = json.loads((ROOT / "results" / "equal-budget.json").read_text("utf-8"))
    page, shown = tmp_path / "page.md", (ROOT / "results" / "equal-budget.md").read_text("utf-8")
    page.write_text(shown, encoding="utf-8")
    fill_page(page, tables.places(results), tables.PLACES)
    assert page.read_text("utf-8") == shown
