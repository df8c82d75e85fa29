"""A sequence-pair classifier as verifier: models of natural-language inference.

The premise is what was retrieved, serialised as in TabFaith, Appendix A; the hypothesis is the
claim. What the outputs mean comes from the checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from transformers import AutoModelForSequenceClassification

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.loading import load, read_config
from tablemend.errors import TablemendError
from tablemend.evidence.source import Source
from tablemend.records import Claim, Document, Evidence, Usage, Verdict, VerdictName
from tablemend.verifier.verifiers import gather, premise, scored, unscored

DEFAULT = "cross-encoder/nli-deberta-v3-base"
"""Contradiction, entailment, neutral; 184 million weights."""
BATCH_TOKENS = {"cpu": 4096, "cuda": 65536}
"""Tokens of a batch, padding included."""
TOO_LONG = "the best cell is too long for the model"


_NAMES: dict[VerdictName, str] = {
    "supported": "entailment entailed entails supported supports support true consistent",
    "contradicted": "contradiction contradicted contradicts refuted refutes refute refused false"
    " inconsistent",
    "not_in_source": "neutral notentailment notentailed notenoughinfo notenoughinformation nei"
    " unknown unverifiable",
}
WORDS = {word: verdict for verdict, words in _NAMES.items() for word in words.split()}
"""Names of labels in published models of inference and table checking, letters alone.

``refused`` is how TAPEX's TabFact models call a refuted statement; ``not_entailment`` of a model
with two labels does not say which of the two others it is.
"""


class _Asked(NamedTuple):
    """One claim on its way through the model.

    Attributes:
        document, place: number of its document, and its own there.
        evidence: what the model sees.
        ids: the tokenizer's output.
    """

    document: int
    place: int
    claim: Claim
    source: Source
    evidence: tuple[Evidence, ...]
    ids: dict[str, Any]

    @property
    def length(self) -> int:
        """Its tokens."""
        return len(self.ids["input_ids"])


class NLIVerifier:
    """Any sequence-pair classifier of transformers, by name or folder.

    Args:
        model: folder or Hub name.
        revision: commit or tag on the Hub.
        labels: names of the outputs in their order, where the checkpoint has none that say
            anything.

    Raises:
        TablemendError: no such model, labels that say nothing, or weights that are missing.
    """

    def __init__(
        self, model: str = DEFAULT, revision: str | None = None, labels: Sequence[str] = ()
    ) -> None:
        checkpoint = Checkpoint.parse(model, revision)
        self._verdicts = read_labels(model, read_config(checkpoint).id2label, labels)
        self.name = f"nli:{checkpoint.path}" + (f"@{revision}" if checkpoint.revision else "")
        self._loaded = load(checkpoint, AutoModelForSequenceClassification)

    def verify(
        self, items: Sequence[tuple[Document, Source]]
    ) -> list[tuple[tuple[Verdict, ...], Usage]]:
        """See :class:`.verifiers.Verifier`; a call is one claim through the model."""
        verdicts: list[dict[int, Verdict]] = [{} for _ in items]
        tokens: list[list[int]] = [[] for _ in items]
        asked = []
        for number, (document, source) in enumerate(items):
            for place, claim in enumerate(document.claims):
                shown = gather(claim.statement, source)
                if (encoded := self._encode(claim, shown.evidence)) is not None:
                    asked.append(_Asked(number, place, claim, source, *encoded))
                else:
                    reason = TOO_LONG if shown.evidence else shown.reason
                    verdicts[number][place] = unscored(claim, shown, reason, self.name)
        for batch in _batches(asked, BATCH_TOKENS[self._loaded.device]):
            for one, shares in zip(batch, self._classify(batch), strict=True):
                best = max(range(len(shares)), key=shares.__getitem__)
                verdict = self._verdicts[best]
                reason = f"the model: {verdict.replace('_', ' ')}, {shares[best]:.2f}"
                verdicts[one.document][one.place] = scored(
                    one.claim, verdict, one.evidence, one.source, reason, self.name
                )
                tokens[one.document].append(one.length)
        return [
            (tuple(own[place] for place in sorted(own)), Usage(len(spent), sum(spent)))
            for own, spent in zip(verdicts, tokens, strict=True)
        ]

    def close(self) -> None:
        """Let go of the weights."""
        device = self._loaded.device
        self._loaded = self._loaded._replace(model=None)
        if device == "cuda":
            torch.cuda.empty_cache()

    def _encode(
        self, claim: Claim, evidence: tuple[Evidence, ...]
    ) -> tuple[tuple[Evidence, ...], dict[str, Any]] | None:
        """A claim with as much of the evidence as fits whole, the best first; ``None``: none."""
        for count in range(len(evidence), 0, -1):
            kept = evidence[:count]
            ids = self._loaded.tokenizer(premise(kept), claim.statement, verbose=False)
            if len(ids["input_ids"]) <= self._loaded.window:
                return kept, dict(ids)
        return None

    @torch.inference_mode()
    def _classify(self, batch: Sequence[_Asked]) -> list[list[float]]:
        """The share of every output, (claims, outputs)."""
        inputs = self._loaded.tokenizer.pad([one.ids for one in batch], return_tensors="pt")
        logits = self._loaded.model(**inputs.to(self._loaded.device)).logits
        shares: list[list[float]] = logits.float().softmax(-1).tolist()
        return shares


def read_labels(
    model: str, names: Mapping[int, str], given: Sequence[str] = ()
) -> tuple[VerdictName, ...]:
    """The verdict of each output of a classifier, in their order.

    Args:
        model: its name, for the message.
        names: ``config.id2label``.
        given: names that a user gives in place of those.

    Raises:
        TablemendError: names that say nothing (``LABEL_0``), two that mean the same, none that
            means support, or another number of names than of outputs.
    """
    said = list(given) or [names[index] for index in sorted(names)]
    known = (WORDS.get(re.sub(r"[\W_]", "", name).casefold()) for name in said)
    found = tuple(verdict for verdict in known if verdict is not None)
    if not len(set(found)) == len(said) == len(names) > 1 or "supported" not in found:
        raise TablemendError(
            f"{model} has {len(names)} outputs, called {', '.join(said)}: which of them is"
            " support? Name them, such as --labels contradiction,entailment,neutral"
        )
    return found


def _batches(asked: Sequence[_Asked], most_tokens: int) -> Iterator[list[_Asked]]:
    """Claims of about one length together, the longest first: a batch too large fails at once."""
    batch: list[_Asked] = []
    for one in sorted(asked, key=lambda one: one.length, reverse=True):
        if batch and (len(batch) + 1) * batch[0].length > most_tokens:
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch
