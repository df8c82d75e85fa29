"""The base of every configuration model, and the sections that several commands share."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from math import isclose
from os import sysconf
from pathlib import Path, PurePath
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)


class Conflicts(ValueError):
    """Several conflicts between fields of one section, as ``(dotted path, message)`` pairs."""

    def __init__(self, found: list[tuple[str, str]]) -> None:
        self.found = found
        super().__init__("; ".join(f"{path}: {message}" for path, message in found))


class UnknownNames(Conflicts):
    """Entries of a free mapping whose names are not valid; without them it would be."""


class Section(BaseModel):
    """A part of a configuration.

    The string under each attribute is its description in ``--help``. Rules that concern more
    than one field go into :meth:`conflicts`, so that all of them are reported at once.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        coerce_numbers_to_str=True,
        use_attribute_docstrings=True,
        protected_namespaces=(),
    )

    check_only: ClassVar[tuple[str, ...]] = ()
    """Fields that ``--check`` alone reads."""

    def conflicts(self) -> Iterable[tuple[str, str]]:
        """Pairs of the dotted path below this section and what is wrong there."""
        return ()

    @model_validator(mode="after")
    def _refuse_conflicts(self) -> Self:
        found = list(self.conflicts())
        if found:
            raise Conflicts(found)
        return self


def _own_folder(run: str) -> str:
    # a run replaces files of its folder: that is never the one of all runs, nor one above it
    if PurePath(run).name in ("", ".."):
        raise ValueError("needs the name of a folder of the run's own, below runs/, or its path")
    return run


EXAMPLE_BYTES = 200
"""Memory that one example takes at the least: its number, and its place in the store."""


def _in_memory(count: int) -> int:
    there, needed = sysconf("SC_PHYS_PAGES") * sysconf("SC_PAGE_SIZE"), count * EXAMPLE_BYTES
    if needed > there:
        raise ValueError(
            f"needs {needed / 2**30:,.0f} GiB of memory or more, and this machine has "
            f"{there / 2**30:,.0f}: ask for fewer"
        )
    return count


Count = Annotated[int, AfterValidator(_in_memory)]
"""How many examples; refused where not even their numbers fit into memory."""
RunFolder = Annotated[str, AfterValidator(_own_folder)]


class Recipe(Section):
    """What every recipe file says at its top; subclasses narrow ``kind`` to one literal."""

    kind: str
    """What the recipe is for; a script reads only its own kind."""
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Name of the run: results go into runs/<name> unless `run` says otherwise."""
    run: RunFolder | None = None
    """Run folder: a name below runs/, or a path where it contains a slash."""
    seed: int = Field(default=0, ge=0)
    """Seed of everything that is drawn at random, where no nearer seed is given."""


ONE, SEVERAL = "(one)", "(several)"
"""Forms of a key that is one section or several by name; pydantic puts them into its paths."""

# YAML 1.1 reads a bare on or off as a boolean
OnOff = BeforeValidator(
    lambda value: {True: "on", False: "off"}[value] if isinstance(value, bool) else value
)
Format = Literal["markdown", "json", "latex"]
Serialisation = Literal["html", "json", "markdown", "indexed_row_major", "df", "concat", "csv"]
Prompt = Literal["base", "careful", "follow", "cot", "few-shot", "assisted", "unitxt"]
DType = Literal["float32", "bfloat16", "auto"]
Precision = Literal["auto", "float32", "bfloat16"]


def nearest(name: str, names: Iterable[str]) -> str:
    """``"; did you mean x?"`` for the name most like ``name``, or an empty string."""
    close = closest(name, names)
    return f"; did you mean {close}?" if close else ""


def closest(name: str, names: Iterable[str]) -> str | None:
    """The most similar of ``names``; initials count as the name (``lr``: learning_rate)."""
    names = list(names)
    for candidate in names:
        if len(name) > 1 and name == "".join(word[:1] for word in candidate.split("_")):
            return candidate
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return close[0] if close else None


HUB = "hub:"
SMALL_WORLD = "small-world"
EXAMPLE_FILES = (".jsonl", ".parquet")
SPLITS = ("train", "validation", "test")


class Source(Section):
    """Where examples come from."""

    source: str
    """`small-world` (generated), a JSONL or Parquet file, a folder with one file a split, or
    `hub:owner/name`."""
    split: Annotated[str, Field(pattern=r"^\w+$")] | None = None
    """Split to read: `train`, `validation` or `test` of a folder, or the Hub's name; null where the
    source is a file."""
    n: Count | None = Field(default=None, ge=1)
    """Most examples to take, from the front; all where it is null."""
    seed: int = Field(default=0, ge=0)
    """Seed of the generated small world."""
    size: Literal["default", "large"] = "default"
    """Size of the small world's contexts: `large` has 3 years of 4 to 6 rows each and sorts in both
    directions, `default` 4 years of 1 to 3 rows, ascending."""
    queries: int = Field(default=1, ge=1)
    """Queries of each context of the small world, an example each, as far as it has years; `n`
    counts examples."""
    revision: str | None = None
    """Commit of a Hub data set."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        if self.source == SMALL_WORLD:
            if self.n is None:
                yield "n", "a generated source needs the number of examples"
            if self.split is not None:
                yield "split", "a generated source has no split; give each a seed of its own"
            return
        if self.seed:
            yield "seed", "only a generated source has a seed"
        if self.size != "default":
            yield "size", "only a generated source has a size"
        if self.queries != 1:
            yield "queries", "only a generated source is asked so; others have what is in them"
        if self.revision is not None and not self.source.startswith(HUB):
            yield "revision", "only a `hub:` source has a revision"
        if self.split is None and not Path(self.source).suffix:
            if self.source.startswith(HUB):
                yield "split", "a Hub data set needs `split:`, a name that it has there"
            else:
                yield "split", f"a folder needs `split: {'|'.join(SPLITS)}`"
        if not self.source.startswith(HUB) and self.split not in (*SPLITS, None):
            yield "split", f"{self.split} is no split of a folder: {', '.join(SPLITS)}"
        if self.split is not None and Path(self.source).suffix in EXAMPLE_FILES:
            yield "split", "a file has no splits; name the file of the split, or its folder"


class Part(Source):
    """A source in a mixture."""

    share: float = Field(gt=0, le=1)
    """Its share of the training examples, a chat counting as one; the shares sum to 1. As many are
    taken as the shares allow without taking one twice."""
    content: Literal["examples", "messages"] = "examples"
    """`examples` of tablemend, or `messages`: ordinary instruction data, each record with a list
    `messages` of {role, content} that ends with the assistant's; loss is on that answer alone."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        yield from super().conflicts()
        if self.content == "messages" and self.source == SMALL_WORLD:
            yield "content", f"{SMALL_WORLD} generates examples; chats come from a file or the Hub"


PartName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
Mixture = dict[PartName, Part]


def _form(value: Any) -> str:
    """One source, unless its keys are names of sections."""
    if not isinstance(value, dict) or "source" in value:
        return ONE
    return SEVERAL if any(isinstance(part, dict | Part) for part in value.values()) else ONE


TrainingSource = Annotated[
    Annotated[Source, Tag(ONE)] | Annotated[Mixture, Tag(SEVERAL)],
    Discriminator(_form),
]


class Data(Section):
    """The examples of the experiment, by use."""

    train: TrainingSource | None = None
    """Examples to fine-tune on: one source, or by name several, each with its share."""
    test: Source
    """Held-out examples to compare the systems on."""
    validation: Source | None = None
    """Held-out examples for the loss during training."""

    def conflicts(self) -> Iterator[tuple[str, str]]:

        def place(source: Source) -> object:
            return source.source, source.split, source.seed, source.size

        for name, held_out in (("validation", self.validation), ("test", self.test)):
            for source in self.training_sources:
                if held_out is not None and place(held_out) == place(source):
                    yield name, "the same examples as data.train"
        if self.validation is not None and place(self.validation) == place(self.test):
            yield "validation", "the same examples as data.test"
        if not isinstance(self.train, dict):
            return
        total = sum(part.share for part in self.train.values())
        if not isclose(total, 1.0, abs_tol=1e-6):
            yield "train", f"the shares sum to {total:g}, not to 1"

    @property
    def training_sources(self) -> tuple[Source, ...]:
        """What is trained on; empty where the recipe trains nothing."""
        if self.train is None:
            return ()
        return tuple(self.train.values()) if isinstance(self.train, dict) else (self.train,)


class TrainingData(Data):
    """The data of an experiment with training."""

    train: TrainingSource
    """Examples to fine-tune on: one source, or by name several, each with its share."""


class ExampleData(TrainingData):
    """The data of a training that takes examples of one source alone."""

    train: Source
    """Examples to train on."""


OWNED = frozenset(("messages", "model", "n", "stream", "stream_options"))
"""Fields of a request that `body` may not change: one whole answer is asked for."""

OF_VLLM = {
    **dict.fromkeys(("model", "tokenizer", "revision", "tokenizer_revision"), "the model"),
    "dtype": "options.dtype",
    "max_model_len": "options.context_length",
    "tensor_parallel_size": "vllm.tensor_parallel",
    "data_parallel_size": "vllm.data_parallel",
    "gpu_memory_utilization": "vllm.memory",
    "enable_prefix_caching": "vllm.prefix_caching",
    "max_num_seqs": "vllm.max_num_seqs",
    "generation_config": "temperature and max_new_tokens of the recipe",
    "structured_outputs_config": "the constraint; its reasoning_parser is given alone",
}
"""Arguments of vLLM's engine that a key decides, and which."""
NAMED_BY_FILES: set[str] = set()
"""Values of `key_variable`, and hosts of servers, that are a stranger's recipe's alone."""
SECRET = re.compile(
    r"(?:^key|api[_-]?key|(?:api|access|auth|hf)[_-]?token|secret|authorization|bearer|passw(?:or)?d"
    r"|credentials?)$",
    re.IGNORECASE,
)
"""Names of fields that hold a key, by their ends."""


class Vllm(Section):
    """vLLM's offline engine; null leaves a choice to the platform (docs/evaluation.md)."""

    tensor_parallel: int = Field(default=1, ge=1)
    """Devices that share one copy of the weights."""
    data_parallel: int | None = Field(default=None, ge=1)
    """Copies of the weights, each with its own devices, that vLLM shares the requests out among;
    null: as many as the GPUs here hold with `tensor_parallel` of them each, on a CPU 1."""
    memory: float = Field(default=0.9, gt=0, le=1)
    """Share of a GPU's memory for weights and keys and values."""
    prefix_caching: bool = True
    """Keep what was computed of a context for the next prompt that begins with it."""
    max_num_seqs: int | None = Field(default=None, ge=1)
    """Prompts that are decoded together; vLLM's own choice where it is null."""
    engine: dict[str, Any] = Field(default_factory=dict)
    """Further arguments of vLLM's engine, by its own names, such as kv_cache_memory_bytes (on a CPU
    4 GiB where it is not given), block_size or enforce_eager. With reasoning_parser (such as qwen3)
    a JSON schema holds from the end of the thinking on; else a thinking answer is held to none."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        for name in sorted(OF_VLLM.keys() & self.engine.keys()):
            yield f"engine.{name}", f"is set by {OF_VLLM[name]}"


class BackendOptions(Section):
    """How one model is asked."""

    concurrency: int = Field(default=64, ge=1)
    """Requests in flight."""
    timeout: float = Field(default=600, gt=0)
    """Seconds that one try may take from its first byte to its last; then it is given up and
    tried again."""
    retries: int = Field(default=6, ge=0)
    """Times that a request is tried again before it is recorded as failed."""
    backoff: float = Field(default=1, gt=0)
    """Seconds before the first new try; it doubles with every further one, with jitter, and a
    server's Retry-After comes before it."""
    max_tokens_total: int | None = Field(default=None, ge=1)
    """Stop cleanly once this many tokens, of prompts and answers, are spent; null: no cap."""
    max_cost: float | None = Field(default=None, gt=0)
    """Stop cleanly once this much is spent, in the currency of the prices; null: no cap."""
    price_in: float | None = Field(default=None, ge=0)
    """Price of a million prompt tokens."""
    price_out: float | None = Field(default=None, ge=0)
    """Price of a million tokens of answers."""
    max_reply_mib: float = Field(default=8, gt=0)
    """Longest reply of a server in MiB, decompressed; a longer one is not read to its end."""
    cache: str | None = "runs/requests.sqlite"
    """File of the request cache: what was answered once is not asked again; null: none."""
    key_variable: str = "OPENAI_API_KEY"
    """Environment variable that holds the server's key; the default's is sent over https and to
    this machine alone. Named on the command line, or by host in TABLEMEND_KEYS; a recipe that names
    another is refused, except for servers of this machine."""
    thinking_switch: Literal["template", "no_think", "none"] = "template"
    """How a server is asked to think or not: through its chat template, by Qwen3's `/think` and
    `/no_think` at the end of the prompt, or not at all."""
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the server calls the longest answer; hosted reasoning models know the second alone."""
    body: dict[str, Any] = Field(default_factory=dict)
    """Further fields of the request, such as top_p; sent as they are, and recorded: no keys. A
    field set to null is not sent, so that `{temperature: null, seed: null}` suits a server that
    refuses both, and `{response_format: null}` one that takes no JSON schema: answers are checked
    anyway."""
    revision: str | None = None
    """Commit or tag of a Hub model."""
    dtype: DType = "auto"
    """Type of the weights in memory; auto: as stored, but float32 where the device emulates
    bfloat16."""
    context_length: int | None = Field(default=None, ge=16)
    """Most tokens of prompt and answer together; null: what the model was made for."""
    batch_size: int = Field(default=16, ge=1)
    """Prompts that transformers decodes together."""
    vllm: Vllm = Vllm()
    """vLLM's offline engine."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        if self.max_cost is not None and not (self.price_in or self.price_out):
            yield "max_cost", "needs price_in and price_out, per million tokens"
        for name in sorted(OWNED.intersection(self.body)):
            yield f"body.{name}", "is set by tablemend for every request: leave it out"
        for path in _keys(self.body, "body"):
            yield (
                path,
                "looks like a key, and the body is recorded: put keys into the environment "
                "(key_variable)",
            )


def _keys(value: object, path: str) -> Iterator[str]:
    """Dotted paths of fields that by their names hold a key, at any depth."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for name, inner in value.items():
            if SECRET.search(str(name)):
                yield f"{path}.{name}"
            else:
                yield from _keys(inner, f"{path}.{name}")
