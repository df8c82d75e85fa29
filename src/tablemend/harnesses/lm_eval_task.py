"""Our tasks for lm-evaluation-harness: the class that the files of ``lm_eval_tasks`` name.

lm-eval run --include_path $(python -m tablemend.harnesses) --tasks tablemend_table_generation
    --metadata '{"tablemend": {"source": "FOLDER", "view": "VIEW"}}'   (docs/publishing.md)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from datasets import Dataset
from lm_eval.api.task import ConfigurableTask

from tablemend.errors import TablemendError
from tablemend.harnesses.benchmark import Benchmark, rate

PREFIX = "tablemend_"
KEY = "tablemend"
"""Of our settings in the metadata, where the harness also puts the model's arguments."""
LONGEST = 1024
"""Tokens of an answer where ``--gen_kwargs max_gen_toks=`` says nothing."""


class LmEvalTask(ConfigurableTask):  # type: ignore[misc]
    """One of our tasks; its settings come with ``--metadata``.

    The harness does not say whether an answer was cut at the token limit: such an answer is scored
    by its text.

    Args:
        config: the YAML file's keys, and the metadata.
    """

    VERSION = 1

    def __init__(self, config: Mapping[str, Any]) -> None:
        name = config["task"].removeprefix(PREFIX)
        given = (config.get("metadata") or {}).get(KEY)
        if not isinstance(given, dict):
            raise TablemendError(
                f"{config['task']} needs to know where its samples are: --metadata "
                f'\'{{"{KEY}": {{"source": "FOLDER", "view": "VIEW"}}}}\''
            )
        self.benchmark = Benchmark({"task": name, **given})
        super().__init__(
            config={
                "task": config["task"],
                "metadata": dict(config.get("metadata") or {}),
                "custom_dataset": self._documents,
                "test_split": "test",
                "output_type": "generate_until",
                "generation_kwargs": {"until": [], "do_sample": False, "max_gen_toks": LONGEST},
                "num_fewshot": 0,
                "metric_list": [
                    {
                        "metric": one.name,
                        "aggregation": rate,
                        "higher_is_better": one.kind == "share",
                    }
                    for one in self.benchmark.task.metrics
                ],
                "process_results": self._score,
            }
        )

    def _documents(self, **_: Any) -> dict[str, Dataset]:
        """What the harness's log keeps of each sample."""
        samples = enumerate(self.benchmark.samples)
        rows = [
            {"number": number, "id": one.id, "source_table": one.source_hash, "domain": one.domain}
            for number, one in samples
        ]
        return {"test": Dataset.from_list(rows)}

    def _chat(self, doc: Mapping[str, Any]) -> Sequence[Mapping[str, str]]:
        return self.benchmark.messages(self.benchmark.samples[doc["number"]])

    def doc_to_text(self, doc: Mapping[str, Any], doc_to_text: object = None) -> str:
        """The user's turn.

        Raises:
            TablemendError: the prompt has turns before it, which the harness makes itself.
        """
        *before, user = self._chat(doc)
        if any(turn["role"] != "system" for turn in before):
            raise TablemendError(
                f"{self.config.task}: the prompt {self.benchmark.prompt} has several turns, and "
                "the harness takes one: use inspect_ai or eval/compare.py"
            )
        return user["content"]

    def doc_to_target(self, doc: Mapping[str, Any], doc_to_target: object = None) -> str:
        """The gold answer, for the log."""
        return self.benchmark.target(self.benchmark.samples[doc["number"]])

    def resolve_field(self, doc: Mapping[str, Any], field: str | None = None) -> str | None:
        """The system's turn in place of a description; the harness asks for nothing else."""
        if field != self.config.description:
            found: str | None = super().resolve_field(doc, field)
            return found
        return "\n\n".join(turn["content"] for turn in self._chat(doc)[:-1])

    def _score(self, doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
        """What each metric counts; a key that is left out does not count."""
        found = self.benchmark.judge(self.benchmark.samples[doc["number"]], results[0])
        values = self.benchmark.values(found).items()
        return {name: value for name, value in values if value is not None}
