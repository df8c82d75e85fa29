"""Architectures known offline: they make models of the published size."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tablemend.errors import TablemendError
from tablemend.training.activations import empty_model
from tablemend.training.architectures import config_of, known


@pytest.mark.parametrize("name", known())
def test_a_shape_makes_a_model_of_the_published_size(name: str) -> None:
    model = empty_model(config_of(name), torch.bfloat16, None)
    assert sum(weight.numel() for weight in model.parameters()) == known()[name]["parameters"]


def test_a_folder_says_its_own_architecture(tiny_model: Path) -> None:
    assert config_of(str(tiny_model)).hidden_size == 32


def test_an_unknown_model_is_refused_without_a_network() -> None:
    with pytest.raises(TablemendError, match=r"nobody/nothing is not known here: fetch"):
        config_of("nobody/nothing")


def test_a_folder_without_a_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TablemendError, match=r"has no config\.json"):
        config_of(str(tmp_path))
