"""The study of labelled tables: its commands are valid, and what they share is equal."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from studies.labelled_budget import LabelledBudget, Seed
from tablemend.config import ConfigError, parse
from tablemend.recipe.experiment import (
    Comparison,
    DistilExperiment,
    DpoExperiment,
    Experiment,
    PairsCommand,
)

KINDS = {
    "train/sft.py": Experiment,
    "train/dpo.py": DpoExperiment,
    "train/distil.py": DistilExperiment,
    "data_gen/preference.py": PairsCommand,
}


@pytest.fixture
def seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seed:
    monkeypatch.chdir(Path(__file__).parents[2])
    made = Seed(LabelledBudget(folder=str(tmp_path / "study")), 1)
    made.path.mkdir(parents=True)
    (made.path / "own.yaml").write_text(yaml.safe_dump(made.own_answers()))
    return made


def test_only_fine_tuning_reads_gold_and_nothing_reads_the_held_out_examples(seed: Seed) -> None:
    methods = seed.methods()
    for name, commands in methods.items():
        for one in commands:
            config = parse(KINDS[one.script], list(one.overrides))
            assert config.data.test.seed == 3 and config.thinking == "off"
            for source in config.data.training_sources:
                assert source.seed != 3 or source.source != "small-world"
            if isinstance(config, DpoExperiment):
                assert config.dpo.pairs.scorer == "repair"
            elif isinstance(config, Experiment) and one.run != "own":
                assert config.data.train.n in (100, 300, 1000)
                assert config.train.evaluate is not None, name
    assert methods["dpo"][:2] == methods["own-answers"][:2]


def test_every_method_is_compared_alone_and_with_repair(seed: Seed, tmp_path: Path) -> None:
    path = tmp_path / "comparison.yaml"
    path.write_text(yaml.safe_dump(seed.comparison()))
    systems = parse(Comparison, [f"recipe={path}"]).evaluation.systems
    names = {"base", *seed.methods()}
    assert set(systems) == names | {f"{name}+repair" for name in names}
    assert systems["dpo"].model == str(seed.run("dpo").model)


def test_methods_need_a_fine_tuning_to_be_compared_with() -> None:
    with pytest.raises(ConfigError, match="from_labels: is none of labels: 100"):
        parse(LabelledBudget, ["labels=[100]"])
