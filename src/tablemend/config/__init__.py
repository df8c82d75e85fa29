"""Configuration: a recipe file and ``key.sub=value`` overrides become one frozen model."""

from tablemend.config.load import RECIPES, ConfigError, load, parse, to_yaml
from tablemend.config.section import (
    EXAMPLE_FILES,
    HUB,
    SMALL_WORLD,
    BackendOptions,
    Count,
    Data,
    DType,
    Format,
    Mixture,
    Part,
    Prompt,
    Recipe,
    Section,
    Source,
)
