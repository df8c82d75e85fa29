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
from tablemend.config.load import RECIPES, ConfigError, load, parse, to_yaml
from tablemend.config.section import Count, DType, Format, Prompt, Recipe, Section
