"""BERTScore: words of a text matched with the most similar words of a reference in context.

Zhang et al. 2020, "BERTScore: Evaluating text generation with BERT"; any encoder of transformers,
without weights by rarity and without rescaling. Special tokens take no part.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers import AutoModel

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.loading import Loaded, batches, load
from tablemend.errors import TablemendError
from tablemend.meta_evaluation.metrics.parent import Entries

DEFAULT = "FacebookAI/roberta-large"
LAYERS = {
    "FacebookAI/roberta-large": 17,
    "roberta-large": 17,
    "google-bert/bert-base-uncased": 9,
    "bert-base-uncased": 9,
    "microsoft/deberta-xlarge-mnli": 40,
}
"""Layer that agrees best with people, as its authors publish it; other models: the last."""


def score(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    tables: Sequence[Entries] = (),
    model: str = DEFAULT,
    layer: int | None = None,
) -> list[float | None]:
    """BERTScore's F of every text, of several references the best; the tables are not looked at.

    Args:
        predictions: the texts.
        references: what people wrote, at least one text each.
        tables: not looked at.
        model: folder or Hub name of an encoder.
        layer: hidden layer to compare; ``None`` for the one in :data:`LAYERS`, else the last.

    Returns:
        ``None`` for a text that is longer than the model reads, or empty: nothing is cut.

    Raises:
        TablemendError: a text without a reference, an unusable model, a layer that it lacks.
    """
    for number, own in enumerate(references, 1):
        if not own:
            raise TablemendError(f"text {number} has no reference; BERTScore needs one")
    loaded = load(Checkpoint.parse(model), AutoModel, spare=("pooler",))
    depth = loaded.config.num_hidden_layers
    chosen = LAYERS.get(model, depth) if layer is None else layer
    if not 0 <= chosen <= depth:
        raise TablemendError(f"{model} has {depth} layers, and no layer {chosen}")
    texts = list(dict.fromkeys([*predictions, *(text for own in references for text in own)]))
    words = dict(zip(texts, _embed(texts, loaded, chosen), strict=True))
    found: list[float | None] = []
    for prediction, own in zip(predictions, references, strict=True):
        scores = [_match(words[prediction], words[reference]) for reference in own]
        known = [one for one in scores if one is not None]
        found.append(max(known) if known else None)
    return found


@torch.inference_mode()
def _embed(texts: Sequence[str], loaded: Loaded, layer: int) -> list[torch.Tensor | None]:
    """Unit vectors of each text's own tokens, (tokens, width)."""
    encoded = loaded.tokenizer(list(texts), return_special_tokens_mask=True, verbose=False)
    lengths = [len(ids) for ids in encoded["input_ids"]]
    order = sorted(
        (place for place, length in enumerate(lengths) if length <= loaded.window),
        key=lengths.__getitem__,
    )
    found: list[torch.Tensor | None] = [None] * len(texts)
    for batch in batches(len(order), loaded.device):
        places = [order[index] for index in batch]
        inputs = loaded.tokenizer(
            [texts[place] for place in places], padding=True, return_tensors="pt"
        ).to(loaded.device)
        states = loaded.model(**inputs, output_hidden_states=True).hidden_states[layer]
        kept = inputs["attention_mask"].bool()
        for row, place in enumerate(places):
            special = torch.tensor(encoded["special_tokens_mask"][place], dtype=torch.bool)
            own = states[row][kept[row]].float().cpu()[~special]
            found[place] = torch.nn.functional.normalize(own, dim=-1) if len(own) else None
    return found


def _match(prediction: torch.Tensor | None, reference: torch.Tensor | None) -> float | None:
    if prediction is None or reference is None:
        return None
    similarity = prediction @ reference.T
    precision = float(similarity.max(dim=1).values.mean())
    recall = float(similarity.max(dim=0).values.mean())
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
