"""Configuration: a recipe file and ``key.sub=value`` overrides become one frozen model."""

from tablemend.config.backend import BackendOptions
from tablemend.config.data import (
    EXAMPLE_FILES,
    HUB,
    SMALL_WORLD,
    Data,
    Mixture,
    Part,
    Source,
)
from tablemend.config.evaluation import Arm, Evaluation, Thinking
from tablemend.config.experiment import Comparison, Experiment, Model, SftCommand
from tablemend.config.load import RECIPES, ConfigError, load, parse, to_yaml
from tablemend.config.section import DType, Format, Prompt, Recipe, Section
from tablemend.config.training import Lora, Train

__all__ = [
    "EXAMPLE_FILES",
    "HUB",
    "RECIPES",
    "SMALL_WORLD",
    "Arm",
    "BackendOptions",
    "Comparison",
    "ConfigError",
    "DType",
    "Data",
    "Evaluation",
    "Experiment",
    "Format",
    "Lora",
    "Mixture",
    "Model",
    "Part",
    "Prompt",
    "Recipe",
    "Section",
    "SftCommand",
    "Source",
    "Thinking",
    "Train",
    "load",
    "parse",
    "to_yaml",
]
