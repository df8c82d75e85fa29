"""A sequence-pair classifier as verifier: inference models, and TAPAS and TAPEX for tables.

The premise is what was retrieved, serialised as in TabFaith, Appendix A; the hypothesis is the
claim. What the outputs mean comes from the checkpoint (:mod:`tablemend.faithfulness.labels`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BartTokenizer
from transformers.models.auto.tokenization_auto import get_tokenizer_config

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.loading import load, named_failures, read_config
from tablemend.evidence.source import Source
from tablemend.faithfulness.encoders import (
    Encoded,
    Encoder,
    Ids,
    PairEncoder,
    TapasEncoder,
    TapexEncoder,
)
from tablemend.faithfulness.labels import read_labels
from tablemend.faithfulness.premise import Shown, gather, scored, unscored
from tablemend.faithfulness.verifier import Usage
from tablemend.records import Claim, Document, Verdict

DEFAULT = "cross-encoder/nli-deberta-v3-base"
"""Contradiction, entailment, neutral; 184 million weights."""
BATCH_TOKENS = {"cpu": 4096, "cuda": 65536}
"""Tokens of a batch, padding included."""


class _Asked(NamedTuple):
    """One claim on its way through the model."""

    place: tuple[int, int]
    claim: Claim
    source: Source
    shown: Shown
    encoded: Encoded


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
        config = read_config(checkpoint)
        self._verdicts = read_labels(model, config.id2label, labels)
        self.name = f"nli:{checkpoint.path}" + (f"@{revision}" if checkpoint.revision else "")
        with named_failures(checkpoint):
            named = get_tokenizer_config(checkpoint.path, revision=checkpoint.revision)
        tapex = named.get("tokenizer_class") == "TapexTokenizer"
        kind = BartTokenizer if tapex else AutoTokenizer
        loaded = load(checkpoint, AutoModelForSequenceClassification, tokenizer_kind=kind)
        self._model: Any = loaded.model
        self._device = loaded.device
        self._pad = int(config.pad_token_id or 0)
        encoder: type[Encoder] = PairEncoder
        if config.model_type == "tapas":
            encoder = TapasEncoder
        elif tapex:  # transformers dropped it; it is BART's with the table written out first
            encoder = TapexEncoder
        self._encoder: Encoder = encoder(loaded.tokenizer, loaded.window)

    def verify(
        self, items: Sequence[tuple[Document, Source]]
    ) -> list[tuple[tuple[Verdict, ...], Usage]]:
        """See :class:`Verifier`; a call is one claim through the model."""
        asked = [
            self._ask((number, place), claim, source)
            for number, (document, source) in enumerate(items)
            for place, claim in enumerate(document.claims)
        ]
        verdicts = {
            one.place: unscored(
                one.claim, one.shown, one.encoded.why_not or one.shown.reason, self.name
            )
            for one in asked
            if one.encoded.ids is None
        }
        readable = [one for one in asked if one.encoded.ids is not None]
        tokens: dict[int, list[int]] = {}
        for batch in _batches(readable, BATCH_TOKENS[self._device]):
            for one, shares in zip(batch, self._classify(batch), strict=True):
                verdicts[one.place] = self._verdict(one, shares)
                tokens.setdefault(one.place[0], []).append(_length(one))
        return [
            (
                tuple(verdicts[number, place] for place in range(len(document.claims))),
                Usage(len(tokens.get(number, ())), sum(tokens.get(number, ()))),
            )
            for number, (document, _) in enumerate(items)
        ]

    def close(self) -> None:
        """Let go of the weights."""
        self._model = None
        if self._device == "cuda":
            torch.cuda.empty_cache()

    def _ask(self, place: tuple[int, int], claim: Claim, source: Source) -> _Asked:
        shown = gather(claim, source)
        if not shown.evidence:
            return _Asked(place, claim, source, shown, Encoded(None, ()))
        encoded = self._encoder.encode(claim, shown.evidence, source)
        return _Asked(place, claim, source, shown, encoded)

    @torch.inference_mode()
    def _classify(self, batch: Sequence[_Asked]) -> list[list[float]]:
        """The share of every output, (claims, outputs)."""
        ids = [one.encoded.ids for one in batch if one.encoded.ids is not None]
        inputs = {name: self._padded(ids, name) for name in ids[0]}
        shares: list[list[float]] = self._model(**inputs).logits.float().softmax(-1).tolist()
        return shares

    def _padded(self, ids: Sequence[Ids], name: str) -> torch.Tensor:
        """One input of a batch, padded on the right, (claims, tokens) or (claims, tokens, 7)."""
        return torch.nn.utils.rnn.pad_sequence(
            [torch.tensor(one[name]) for one in ids],
            batch_first=True,
            padding_value=self._pad if name == "input_ids" else 0,
        ).to(self._device)

    def _verdict(self, one: _Asked, shares: Sequence[float]) -> Verdict:
        best = max(range(len(shares)), key=shares.__getitem__)
        verdict = self._verdicts[best]
        reason = f"the model: {verdict.replace('_', ' ')}, {shares[best]:.2f}"
        return scored(one.claim, verdict, one.encoded.evidence, one.source, reason, self.name)


def _length(one: _Asked) -> int:
    assert one.encoded.ids is not None
    return len(one.encoded.ids["input_ids"])


def _batches(asked: Sequence[_Asked], most_tokens: int) -> Iterator[list[_Asked]]:
    """Claims of about one length together, the longest first: a batch too large fails at once."""
    batch: list[_Asked] = []
    for one in sorted(asked, key=_length, reverse=True):
        if batch and (len(batch) + 1) * _length(batch[0]) > most_tokens:
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch
