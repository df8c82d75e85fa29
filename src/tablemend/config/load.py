"""A recipe file and key.sub=value overrides become one frozen model; help; and batch files."""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tablemend.config.section import (
    NAMED_BY_FILES,
    ONE,
    SEVERAL,
    Conflicts,
    Section,
    UnknownNames,
    closest,
    nearest,
)
from tablemend.errors import TablemendError
from tablemend.foreign import read_whole, whole_characters
from tablemend.shipped import shipped
from tablemend.values.text import on_one_line

RECIPES = Path("recipes")
FEW = 12
"""Keys of a section that are named where none is like the one given."""
_LONGEST = 80
SectionT = TypeVar("SectionT", bound=Section)


class ConfigError(TablemendError):
    """Everything that is wrong with a recipe and its overrides, one problem a line."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        count = f"{len(problems)} problems" if len(problems) > 1 else "1 problem"
        super().__init__("\n  ".join([f"the configuration has {count}:", *problems]))


@dataclass
class _Reading:
    """What has been read so far, where each key came from, and what was wrong."""

    values: DictConfig = field(default_factory=OmegaConf.create)
    places: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def refused(self, problem: str) -> ConfigError:
        """What ends the reading, behind all that was found before."""
        return ConfigError([*self.problems, problem])

    def place_of(self, path: str) -> str:
        """Where the key, all that is in it, or the nearest section around it was written."""
        inside = {where for name, where in self.places.items() if name.startswith(f"{path}.")}
        if path not in self.places and len(inside) == 1:
            return inside.pop()
        while path:
            if path in self.places:
                return self.places[path]
            path = path.rpartition(".")[0]
        return self.places.get("", "command line")


def load(
    cls: type[SectionT],
    argv: Sequence[str] | None = None,
    plan: Callable[[SectionT], Iterable[str]] | None = None,
) -> SectionT:
    """Read the command line of a script.

    Classes with a ``kind`` need ``recipe=NAME`` (a file in recipes/, here or
    of those that come along, or a path), unless it has a
    default; others take overrides of their defaults alone. ``--help`` and ``--check`` print and
    exit with status 0.

    Args:
        cls: the model that decides.
        argv: the tokens after the script's name; those of the process by default.
        plan: lines that ``--check`` prints in place of the configuration, which ``-v`` adds.

    Raises:
        ConfigError: with every problem found.
    """
    tokens = list(sys.argv[1:] if argv is None else argv)
    if {"--help", "-h"} & set(tokens):
        print(help_text(cls, recipes_of(cls)))
        raise SystemExit(0)
    check, whole = "--check" in tokens, "-v" in tokens
    if whole and not check:
        raise ConfigError(["-v: only --check reads it: give both"])
    config = parse(cls, [token for token in tokens if token not in ("--check", "-v")])
    if check:
        if os.environ.get("RANK", "0") == "0":  # one of all the processes that were launched
            for line in plan(config) if plan else ():
                print(f"# {line}" if whole else line, flush=True)  # all together is a recipe
            if whole or plan is None:
                print(to_yaml(config), end="", flush=True)
        raise SystemExit(0)
    if unread := [name for name in cls.check_only if name in config.model_fields_set]:
        raise ConfigError([f"{name}: only --check reads it: give both" for name in unread])
    return config


def parse(cls: type[SectionT], tokens: Sequence[str]) -> SectionT:
    """The same without the two flags; for tests and notebooks."""
    reading = _Reading()
    pairs = _split(tokens, reading)
    _read_recipe(cls, pairs, reading)
    for name, value in pairs:
        _override(name, value, reading)
    _refuse_references(reading.values, reading)
    config = _validate(cls, reading)
    _note_strangers(reading)
    if config is None or reading.problems:
        raise ConfigError(reading.problems)
    return config


def _note_strangers(reading: _Reading) -> None:
    """Remember which servers, and which variables of keys, a recipe that did not come along names:
    it does not decide which secret is sent where (:func:`tablemend.backends.names.key_of`).
    """
    own = shipped("recipes").resolve()
    for path, place in reading.places.items():
        file = Path(place.rpartition(":")[0])
        if place == "command line" or not path or file.resolve().is_relative_to(own):
            continue
        value = str(OmegaConf.select(reading.values, path))
        if path.rpartition(".")[2] == "key_variable":
            NAMED_BY_FILES.add(value)
        elif server := re.fullmatch(r"openai:.*@https?://([^/:?]+).*", value):
            NAMED_BY_FILES.add(server[1])


def _refuse_references(values: DictConfig, reading: _Reading) -> None:
    """A reference could read this machine's secrets: refused before any value is looked at."""
    if "${" in str(OmegaConf.to_container(values)):
        raise reading.refused("${...} is not filled in: write what is meant")


def to_yaml(config: Section) -> str:
    """The resolved configuration, in the order of the schema; reading it gives it again.

    What is said to one call alone (`overwrite`, `show`) is left out: every command of the recipe's
    kind reads the text.
    """
    data = config.model_dump(mode="json")
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100))


def _split(tokens: Sequence[str], reading: _Reading) -> list[tuple[str, str]]:
    pairs = []
    for token in tokens:
        name, equals, value = token.partition("=")
        if token.startswith("-"):
            reading.problems.append(f"{token}: unknown flag; there are --help and --check")
        elif not equals:
            reading.problems.append(f"{token}: no `=`; write key=value or recipe=NAME")
        elif not all(name.split(".")):
            reading.problems.append(f"{token}: an empty name left of `=`")
        else:
            pairs.append((name, value))
    return pairs


def _read_recipe(cls: type[Section], pairs: list[tuple[str, str]], reading: _Reading) -> None:
    """Take ``recipe=`` out of ``pairs`` and read its file.

    Raises:
        ConfigError: there is none that can be read.
    """
    if not kinds_of(cls):
        return  # `recipe=` is then an unknown key like any other
    named = [value for name, value in pairs if name == "recipe"]
    pairs[:] = [pair for pair in pairs if pair[0] != "recipe"]
    if not named and not cls.model_fields["kind"].is_required():
        return
    if len(named) != 1:
        what = "no recipe given" if not named else "more than one recipe given"
        raise reading.refused(f"recipe: {what}; recipe=NAME with one of: {_listing(cls)}")
    path = _recipe_path(named[0])
    if not path.is_file():
        hint = nearest(named[0], [name for name, _ in recipes_of(cls)])
        raise reading.refused(
            f"recipe: no file {path}{hint} (command line); there are: {_listing(cls)}"
        )
    reading.values = _read_yaml(path, reading)
    found, wanted = reading.values.get("kind"), kinds_of(cls)
    if isinstance(found, str) and found not in wanted:
        fitting = ", ".join(name for name, _ in recipes_of(cls))
        raise reading.refused(
            f"kind: {path} is for {found}, this command is for {' or '.join(wanted)}; "
            f"there are: {fitting}"
        )


def _recipe_path(name: str) -> Path:
    """A path, or the recipe of this name: from here, else from those that come along."""
    if "/" in name or name.endswith((".yaml", ".yml")):
        return Path(name)
    own = RECIPES / f"{name}.yaml"
    along = shipped("recipes") / own.name
    return along if along.is_file() and not own.is_file() else own


def _read_yaml(path: Path, reading: _Reading) -> DictConfig:
    """The values of a recipe, and the line of each of its keys."""
    try:
        text = read_whole(path).decode()
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        values = OmegaConf.create(text)
    except yaml.MarkedYAMLError as error:
        where = f"{path}:{error.problem_mark.line + 1}" if error.problem_mark else path
        raise reading.refused(f"{where}: not readable as YAML: {error.problem}") from error
    except UnicodeDecodeError as error:
        raise reading.refused(f"{path}: not UTF-8 text at byte {error.start}") from error
    except (yaml.YAMLError, *_UNREADABLE) as error:
        raise reading.refused(f"{path}: not readable as YAML: {_why(error)}") from error
    if not isinstance(values, DictConfig) or not isinstance(node, yaml.MappingNode):
        raise reading.refused(f"{path}: a recipe is a mapping of keys to values")
    _refuse_references(values, reading)
    reading.places[""] = str(path)
    _note_lines(node, path, "", reading.places)
    return values


def _note_lines(node: yaml.MappingNode, path: Path, prefix: str, places: dict[str, str]) -> None:
    for key, value in node.value:
        dotted = f"{prefix}{key.value}"
        places[dotted] = f"{path}:{key.start_mark.line + 1}"
        if isinstance(value, yaml.MappingNode):
            _note_lines(value, path, f"{dotted}.", places)


def _override(name: str, value: str, reading: _Reading) -> None:
    parts = name.split(".")
    for depth in range(1, len(parts)):
        section = OmegaConf.select(reading.values, ".".join(parts[:depth]))
        if section is not None and not isinstance(section, DictConfig):
            above = ".".join(parts[:depth])
            reading.problems.append(f"{name}={value}: {above} is a value, not a section")
            return
    try:
        yaml.compose(value, Loader=yaml.SafeLoader)  # OmegaConf's parser in C dies of deep nesting
        parsed = OmegaConf.from_dotlist([f"value={value}"])
        OmegaConf.update(
            reading.values, name, parsed._get_node("value"), force_add=True, merge=False
        )
    except (yaml.YAMLError, *_UNREADABLE) as error:
        shown = on_one_line(f"{name}={value}", _LONGEST)
        reading.problems.append(f"{shown}: {_why(error)} (command line)")
        return
    for place in [one for one in reading.places if one.startswith(f"{name}.")]:
        del reading.places[place]  # a mapping takes the place of the recipe's
    reading.places[name] = "command line"


_UNREADABLE = (OmegaConfBaseException, RecursionError, ValueError, KeyError, AttributeError)
"""What YAML raises beside its own errors: of wrong references, deep nesting, wrong numbers, dates
and tags."""


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return on_one_line((str(error).splitlines() or [type(error).__name__])[0], _LONGEST)


def _validate(cls: type[SectionT], reading: _Reading) -> SectionT | None:
    """Validate; with unknown keys, once more without them, so that they hide no conflict."""
    values: Any = OmegaConf.to_container(reading.values)
    keys = keys_of(cls)
    while True:
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            # pydantic's names for the forms of a section are no keys
            forms = (ONE, SEVERAL)
            found: list[Any] = [
                {**problem, "loc": tuple(part for part in problem["loc"] if part not in forms)}
                for problem in error.errors()
            ]
        unknown = [(problem, _unknown_keys(problem)) for problem in found]
        unknown = [(problem, locations) for problem, locations in unknown if locations]
        for problem in [problem for problem, _ in unknown] or _causes(found):
            path = ".".join(str(part) for part in problem["loc"])
            raised = problem.get("ctx", {}).get("error")
            if isinstance(raised, Conflicts):
                below = [(f"{path}.{name}".lstrip("."), message) for name, message in raised.found]
            else:
                below = [(path, _message(problem, path, keys))]
            reading.problems += [
                f"{name}: {message} ({reading.place_of(name)})" for name, message in below
            ]
        if not unknown:
            return None
        for _, locations in unknown:
            for *above, name in locations:
                section = values
                for part in above:
                    section = section[part]
                del section[name]


def _causes(found: Sequence[Any]) -> list[Any]:
    """The problems without what they bring about: a list is too short without its wrong entries."""
    wrong = [problem["loc"] for problem in found]
    return [
        problem
        for problem in found
        if problem["type"] != "too_short"
        or not any(loc[:-1] == problem["loc"] for loc in wrong if loc)
    ]


def _unknown_keys(problem: Any) -> list[tuple[str | int, ...]]:
    """Where the unknown keys are that this pydantic error is about; none for another error."""
    if problem["type"] == "extra_forbidden":
        return [problem["loc"]]
    raised = problem.get("ctx", {}).get("error")
    if isinstance(raised, UnknownNames):
        return [(*problem["loc"], name) for name, _ in raised.found]
    return []


def _message(problem: Any, path: str, keys: Sequence[Key]) -> str:
    if problem["type"] == "extra_forbidden":
        return f"unknown key{_nearest_key(path, keys)}"
    if problem["type"] == "missing":
        own = next((key for key in keys if key.path == path and key.description), None)
        if own is None:
            return "missing"
        first, _, _ = " ".join(own.description.split()).partition(". ")
        return f"missing: {first.rstrip('.')}"
    if problem["type"] == "too_short":
        return f"needs at least {problem['ctx']['min_length']}, and has {len(problem['input'])}"
    if problem["type"] == "tuple_type":
        return f"needs a list, such as {path}=[{problem['input']}], not {problem['input']!r}"
    text = str(problem["msg"]).removeprefix("Value error, ")
    text = text[:1].lower() + text[1:]
    if problem["type"] == "literal_error":
        expected = problem["ctx"]["expected"].replace(" or ", ", ")
        options = [part.strip("' ") for part in expected.split(", ")]
        return f"{text}, not {problem['input']!r}{nearest(str(problem['input']), options)}"
    if isinstance(problem["input"], str | int | float | bool | None):
        return f"{text}, not {problem['input']!r}"
    return text


def _nearest_key(path: str, keys: Sequence[Key]) -> str:
    """The same name in other sections, else the most similar sibling, else what there is."""
    parent, _, last = path.rpartition(".")
    by_leaf: dict[str, list[str]] = {}
    for key in keys:
        by_leaf.setdefault(key.path.rpartition(".")[2], []).append(key.path)
    if last in by_leaf:
        plain = [known for known in by_leaf[last] if "<" not in known]
        return f"; did you mean {' or '.join(plain or by_leaf[last])}?"
    siblings = [key.path.rpartition(".")[2] for key in keys if key.is_child_of(parent)]
    if hint := nearest(last, siblings):
        return hint
    if parent and 0 < len(siblings) <= FEW:
        return f"; {parent} has {', '.join(siblings)}"
    leaf = closest(last, by_leaf)
    return f"; did you mean {by_leaf[leaf][0]}?" if leaf else ""


def recipes_of(cls: type[Section]) -> list[tuple[str, str]]:
    """Name and first head comment of every recipe of the class's kinds, in order of name."""
    found = []
    files = {
        path.stem: path for place in (shipped("recipes"), RECIPES) for path in place.glob("*.yaml")
    }
    for path in (files[name] for name in sorted(files)):
        text = path.read_text(encoding="utf-8")
        kind = next((line for line in text.splitlines() if line.startswith("kind:")), "")
        if kind.removeprefix("kind:").split("#")[0].strip() in kinds_of(cls):
            head = text.splitlines()[0]
            found.append((path.stem, head.lstrip("# ") if head.startswith("#") else ""))
    return found


def kind_named(tokens: Sequence[str]) -> str | None:
    """The ``kind`` of the recipe that a command line names, for scripts that take two kinds.

    ``None`` where there is no such recipe or it says none: :func:`load` tells what is wrong.
    """
    named = [token.partition("=")[2] for token in tokens if token.startswith("recipe=")]
    try:
        data = yaml.safe_load(read_whole(_recipe_path(named[0])))
    except (IndexError, OSError, yaml.YAMLError, *_UNREADABLE):
        return None
    kind = data.get("kind") if isinstance(data, dict) else None
    return kind if isinstance(kind, str) else None


def _listing(cls: type[Section]) -> str:
    return ", ".join(name for name, _ in recipes_of(cls))


ANY_NAME = "<name>"


@dataclass(frozen=True)
class Key:
    """One key of a configuration; ``<name>`` in the path is any name."""

    path: str
    type: str
    default: str
    description: str

    def is_child_of(self, parent: str) -> bool:
        """Whether the key is directly in the section at ``parent``."""
        own = self.path.split(".")[:-1]
        other = parent.split(".") if parent else []
        return len(own) == len(other) and all(
            mine in (ANY_NAME, yours) for mine, yours in zip(own, other, strict=True)
        )


def kinds_of(cls: type[Section]) -> tuple[str, ...]:
    """The kinds of recipe that a class reads; none for a class without recipes."""
    if "kind" not in cls.model_fields:
        return ()
    return tuple(map(str, get_args(cls.model_fields["kind"].annotation)))


def keys_of(cls: type[Section]) -> list[Key]:
    """Every key, sections included, in the order of the schema."""
    return list(_walk(cls, ""))


def help_text(cls: type[Section], recipes: Sequence[tuple[str, str]]) -> str:
    """The page that ``--help`` prints; a class without kinds may have recipes or do without."""
    named = ""
    if kind := cls.model_fields.get("kind"):
        named = "recipe=NAME " if kind.is_required() else "[recipe=NAME] "
    listed = recipes if named else None
    return f"{usage_text(f'{named}[key.sub=value ...]', listed)}\n\n{keys_text(cls)}"


def usage_text(arguments: str, recipes: Sequence[tuple[str, str]] | None) -> str:
    """The head of a page of help; ``None``: a command without recipes."""
    name = f"python {sys.argv[0]}" if sys.argv[0].endswith(".py") else Path(sys.argv[0]).name
    lines = [f"usage: {name} {arguments} [--check]", ""]
    if recipes is not None:
        lines += ["recipes:", *(f"  {name:<14} {head}" for name, head in recipes)]
        lines += [""] if recipes else ["  (none here)", ""]
    return "\n".join(
        [*lines, "--check  print problems and the plan, and stop; -v: the configuration too"]
    )


def keys_text(cls: type[Section]) -> str:
    """Every key with its type, its default and what it is."""
    lines = ["keys:"]
    for key in keys_of(cls):
        default = f" = {key.default}" if key.default else ""
        lines.append(f"  {key.path}: {key.type}{default}")
        text = " ".join(key.description.split())
        lines += textwrap.wrap(text, 96, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return "\n".join(lines)


def _walk(cls: type[Section], prefix: str) -> Iterator[Key]:
    for name, info in cls.model_fields.items():
        path = f"{prefix}{name}"
        sections = list(_sections(info.annotation))
        kind = "section" if sections else _name(info.annotation)
        yield Key(path, kind, _default(info), info.description or "")
        for section, named in sections:
            yield from _walk(section, f"{path}.{ANY_NAME}." if named else f"{path}.")


def _sections(annotation: Any) -> Iterator[tuple[type[Section], bool]]:
    """The section classes in an annotation, and whether each is below free names."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation, False
    elif get_origin(annotation) is dict:
        for section, _ in _sections(get_args(annotation)[1]):
            yield section, True
    elif get_origin(annotation) is Annotated:
        yield from _sections(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for option in get_args(annotation):
            yield from _sections(option)


def _name(annotation: Any) -> str:
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is NoneType:
        return "null"
    if origin is Literal:
        return "|".join(str(arg) for arg in args)
    if origin in (Union, UnionType):
        return "|".join(_name(arg) for arg in args)
    if origin is tuple:
        return f"[{_name(args[0])}, ...]"
    if origin is dict:
        return f"{{{_name(args[0])}: {_name(args[1])}}}"
    if args:  # Annotated
        return _name(args[0])
    return annotation.__name__ if isinstance(annotation, type) else "any"


def _default(info: FieldInfo) -> str:
    if info.default_factory is not None:
        return "{}" if info.annotation is dict or get_origin(info.annotation) is dict else "[]"
    if info.default is PydanticUndefined:
        return ""
    if isinstance(info.default, Section):  # its keys follow, each with its own default
        return ""
    return "null" if info.default is None else str(info.default)


class BatchLine(BaseModel):
    """The fields of a line."""

    model_config = ConfigDict(frozen=True, strict=True)


LineT = TypeVar("LineT", bound=BatchLine)


def read_batch(path: Path, model: type[LineT]) -> Iterator[tuple[int, LineT]]:
    """The lines of a file that are not blank, one at a time, with their numbers.

    Raises:
        TablemendError: the file cannot be read or holds nothing, or a line is not what is wanted;
            a field that is none of ours is refused too.
    """
    try:
        lines = StringIO(read_whole(path).decode("utf-8-sig"), newline=None)
    except OSError as error:
        raise TablemendError(f"cannot read the batch file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TablemendError(f"the batch file {path} is not UTF-8: {error.reason}") from error
    except ValueError as error:
        raise TablemendError(f"the batch file {path} holds {error}: divide it") from error
    any_line = False
    for number, line in enumerate(lines, 1):
        if line.strip():
            any_line = True
            yield number, _read_line(line, f"{path}, line {number}", model)
    if not any_line:
        raise TablemendError(f"the batch file {path} is empty")


def _read_line(line: str, place: str, model: type[LineT]) -> LineT:
    known = list(model.model_fields)
    try:
        data = json.loads(line.rstrip())
    except json.JSONDecodeError as error:
        raise TablemendError(f"{place}: not JSON ({error.msg}, column {error.colno})") from error
    except (RecursionError, ValueError) as error:
        raise TablemendError(f"{place}: JSON nested too deeply, or too long a number") from error
    if not isinstance(data, dict):
        raise TablemendError(f"{place}: wanted an object with {', '.join(known)}")
    if other := [name for name in data if name not in known]:
        close = nearest(other[0], [field for field in known if field not in data])
        said = close or f"; there are {', '.join(known)}"
        raise TablemendError(f"{place}: unknown field {other[0]!r}{said}")
    try:
        return model.model_validate(
            {n: whole_characters(own) if isinstance(own, str) else own for n, own in data.items()}
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = "".join(f"{part}: " for part in first["loc"])
        raise TablemendError(f"{place}: {field}{first['msg']}") from error
    except TablemendError as error:
        raise TablemendError(f"{place}: {error}") from error
