"""Packed rows, for architectures and attention kernels that keep examples apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transformers import PretrainedConfig
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from tablemend.errors import TablemendError
from tablemend.training import on_cpu

MASKED = ("sdpa", "eager", on_cpu.NAME)
"""Kernels that keep packed examples apart by a mask; the others take where each begins."""

APART = frozenset(
    """apertus arcee aria_text bitnet codegen cohere cohere2 cohere2_moe ctrl cwm deepseek_v2
    deepseek_v3 diffllama emu3 ernie4_5 ernie4_5_moe exaone4 exaone_moe flex_olmo gemma gemma2
    gemma3 gemma3_text glm glm4 glm4_moe glm4_moe_lite gpt-sw3 gpt2 gpt_bigcode gpt_neo gpt_neox
    gpt_neox_japanese gptj granite granite_swa granitemoe granitemoe_swa granitemoeshared helium
    hunyuan_v1_dense hunyuan_v1_moe hy_v3 hyperclovax jais2 jetmoe laguna llama mellum
    mimo_v2_flash minicpm3 minimax_m2 ministral ministral3 mistral mixtral modernbert-decoder
    nanochat nemotron olmo olmo2 olmo3 olmoe persimmon phi phi3 phimoe qwen2 qwen2_moe qwen3
    qwen3_moe seed_oss smollm3 solar_open stablelm starcoder2 vaultgemma youtu""".split()
)
"""Model types of transformers (5.17) whose packed examples have the logits that they have alone
(test_training_packing.py). Others carry a state from one to the next, or make their mask without
the positions, as gpt-oss does."""
LAYERS = {"full_attention", "sliding_attention"}


def refuse_packing(architecture: PretrainedConfig) -> None:
    """Refuse packed rows where an example could see the one before it.

    Raises:
        TablemendError: a model type or a kind of layer that is not known to keep them apart.
    """
    kinds = set(getattr(architecture.get_text_config(), "layer_types", None) or ()) - LAYERS
    if kinds or architecture.model_type not in APART:
        layers = f" with layers of {', '.join(sorted(kinds))}" if kinds else ""
        raise TablemendError(
            f"train.packing=true: in a {architecture.model_type} model{layers} a packed example "
            "could see the one before it: set train.packing=false"
        )


@dataclass
class PackedRows(DataCollatorForLanguageModeling):  # type: ignore[misc]
    """Packed rows side by side, for kernels that take a mask.

    TRL's collator (1.16; by design) lays a batch out as one row, of which a mask has the square.
    transformers makes the mask that keeps examples apart from their positions, where no other mask
    is given.
    """

    return_position_ids: bool = True

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        """The batch without an attention mask: padding has positions of its own."""
        batch: dict[str, Any] = super().torch_call(examples)
        del batch["attention_mask"]
        return batch
