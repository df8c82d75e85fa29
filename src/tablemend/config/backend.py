"""How a model is asked: limits, retries, caps, cache, and what its engine needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from tablemend.config.section import DType, Section

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
        """Arguments that tablemend gives itself."""
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
        """A cap on costs without prices; fields of the body that are not free."""
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
