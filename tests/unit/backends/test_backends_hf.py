"""The transformers backend on random tiny models: same answers as ``model.generate``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.hf import HFModel, load_model
from tablemend.backends.loading import completion_of
from tablemend.backends.requests import Prompt, Sampling
from tablemend.errors import TablemendError
from tablemend.records import FinishReason

VOCAB = 40
EOS = 1
GEMMA_EOS = 16  # a token that this random model does write
SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 128,
    "bos_token_id": None,
    "eos_token_id": EOS,
    "pad_token_id": 0,
}


def make_tokenizer() -> PreTrainedTokenizerFast:
    words = ["<pad>", "<end>", *(f"w{index}" for index in range(2, VOCAB))]
    inner = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<pad>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token="<end>", pad_token="<pad>"
    )
    tokenizer.chat_template = "{{ messages[0]['content'] }}"
    return tokenizer


def make_qwen() -> Qwen3ForCausalLM:
    torch.manual_seed(0)
    return Qwen3ForCausalLM(Qwen3Config(**SIZES, initializer_range=0.5)).eval()


def make_gemma() -> Gemma3ForCausalLM:
    torch.manual_seed(0)
    config = Gemma3TextConfig(
        **{**SIZES, "eos_token_id": GEMMA_EOS},
        initializer_range=0.5,
        sliding_window=6,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
    )
    return Gemma3ForCausalLM(config).eval()


def wrap(model) -> HFModel:
    stop_ids = frozenset({model.config.eos_token_id})
    return HFModel(model, make_tokenizer(), stop_ids=stop_ids)


def make_requests(count: int) -> list[Prompt]:
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(3, 30, (count,), generator=generator).tolist()
    return [
        Prompt(
            f"r{index}",
            tuple(torch.randint(2, VOCAB, (length,), generator=generator).tolist()),
            seed=index,
        )
        for index, length in enumerate(lengths)
    ]


def answers(model: HFModel, requests, sampling, batch_size) -> dict[str, str]:
    return {c.id: c.text for c in model.generate(requests, sampling, batch_size)}


def generate_alone(model, request: Prompt, length: int) -> list[int]:
    ids = torch.tensor([request.ids])
    output = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=length,
        do_sample=False,
    )
    return output[0, ids.shape[1] :].tolist()


@pytest.mark.parametrize(("make_model", "batch_size"), [(make_qwen, 5), (make_gemma, 64)])
def test_greedy_answers_are_those_of_generate(make_model, batch_size):
    wrapped = wrap(make_model())
    requests = make_requests(17)
    finishes = set()
    for completion in wrapped.generate(requests, Sampling(40), batch_size):
        request = next(r for r in requests if r.id == completion.id)
        expected = generate_alone(wrapped.model, request, 40)
        stopped = expected[-1] == wrapped.model.config.eos_token_id
        finishes.add(completion.finish_reason)
        assert completion.finish_reason == ("stop" if stopped else "length")
        assert completion.completion_tokens == len(expected)
        assert completion.prompt_tokens == len(request.ids)
        assert completion.text == wrapped.tokenizer.decode(expected[:-1] if stopped else expected)
    assert finishes == {"stop", "length"}  # the random model must exercise both


def test_an_answer_that_repeats_itself_is_cut_where_it_does():
    model, requests = wrap(make_qwen()), make_requests(17)
    whole = {one.id: one for one in model.generate(requests, Sampling(90), 5)}
    cut = 0
    for one in model.generate(requests, Sampling(90, max_repeats=3), 5):
        ids = whole[one.id].text.split()
        loops = [
            end
            for end in range(len(ids) + 1)
            for size in range(8, 65)
            if 3 * size <= end and ids[end - 3 * size : end] == 3 * ids[end - size : end]
        ]
        if loops:
            cut += 1
            assert one.text.split() == ids[: loops[0]]
            assert one.finish_reason == "length"
        else:
            assert one == replace(whole[one.id], seconds=one.seconds)
    assert 0 < cut < len(requests)  # the random model must exercise both


def test_sampling_does_not_depend_on_the_batch():
    model = wrap(make_qwen())
    requests = make_requests(12)
    sampling = Sampling(20, temperature=0.8)
    alone = answers(model, requests, sampling, 1)
    assert answers(model, requests, sampling, 5) == alone
    assert answers(model, requests[::-1], sampling, 12) == alone
    others = [replace(request, seed=request.seed + 100) for request in requests]
    assert answers(model, others, sampling, 1) != alone


def test_sampling_follows_the_distribution():
    model = wrap(make_qwen())
    prompt = (2, 3, 4)
    with torch.inference_mode():
        logits = model.model(input_ids=torch.tensor([prompt])).logits[0, -1]
    expected = torch.softmax(logits / 2.0, -1)
    requests = [Prompt(f"r{index}", prompt, seed=index) for index in range(4000)]
    drawn = torch.zeros(VOCAB)
    for completion in model.generate(requests, Sampling(1, temperature=2.0), 4000):
        stopped = completion.finish_reason == "stop"
        drawn[EOS if stopped else int(completion.text.removeprefix("w").replace("<pad>", "0"))] += 1
    distance = 0.5 * (drawn / drawn.sum() - expected).abs().sum()
    assert distance < 0.06


def save(folder: Path) -> Path:
    make_qwen().save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)
    return folder


def test_load_an_adapter(tmp_path):
    from peft import LoraConfig, get_peft_model

    base = save(tmp_path / "base")
    torch.manual_seed(5)
    adapted = get_peft_model(
        make_qwen(), LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False)
    )
    adapted.peft_config["default"].base_model_name_or_path = str(base)
    adapted.save_pretrained(tmp_path / "adapter")
    checkpoint = Checkpoint.parse(str(tmp_path / "adapter"))
    requests = make_requests(3)
    expected = answers(wrap(adapted.merge_and_unload()), requests, Sampling(8), 3)
    got = answers(load_model(checkpoint, dtype="float32"), requests, Sampling(8), 3)
    assert got == expected
    assert got != answers(wrap(make_qwen()), requests, Sampling(8), 3)
    config = json.loads((tmp_path / "base" / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    (tmp_path / "base" / "config.json").write_text(json.dumps(config))
    with pytest.raises(TablemendError, match="is quantised, and merging would round"):
        load_model(checkpoint)


def test_a_missing_weight_is_refused_and_never_made_up(tmp_path):
    folder = save(tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    weights.pop("model.layers.0.mlp.up_proj.weight")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(TablemendError, match=r"lacks 1 weights .*layers\.0\.mlp\.up_proj"):
        load_model(Checkpoint.parse(str(folder)))


def test_tokenizer_without_chat_template_is_refused(tmp_path):
    folder = save(tmp_path / "model")
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(TablemendError, match="no chat template"):
        load_model(Checkpoint.parse(str(folder)))


def test_recurrent_architecture_is_refused(tmp_path):
    folder = save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["layer_types"] = ["full_attention", "linear_attention", "full_attention"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(TablemendError, match="linear_attention"):
        load_model(Checkpoint.parse(str(folder)))


def test_fingerprint_follows_weights_and_template(tmp_path):
    folder = save(tmp_path / "model")
    checkpoint = Checkpoint.parse(str(folder))
    first = checkpoint.fingerprint()
    (folder / "README.md").write_text("a card")
    assert checkpoint.fingerprint() == first
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    second = checkpoint.fingerprint()
    assert second != first
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert checkpoint.fingerprint() not in (first, second)


def test_a_thought_that_the_prompt_opened_has_its_tag() -> None:
    words = ["<think>", "so", "</think>", "yes", "<end>"]

    class Words:
        def decode(self, ids: Sequence[int], **_: bool) -> str:
            return " ".join(words[number] for number in ids)

    for prompt, ids, text in (
        ((3, 0), [1, 1], "<think>so so"),
        ((3, 0), [1, 2, 3, 4], "<think>so </think> yes"),
        ((0, 2), [3, 4], "yes"),
    ):
        finish: FinishReason = "stop" if ids[-1] == 4 else "length"
        done = completion_of(Words(), Prompt("", prompt), ids, finish)
        assert (done.text, done.completion_tokens) == (text, len(ids))
