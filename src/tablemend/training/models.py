"""The model that a training starts from, its adapters, and the arguments of TRL's trainers."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import torch
from accelerate import PartialState
from accelerate.utils import parse_flag_from_env
from peft import LoraConfig, get_peft_model_state_dict
from peft.utils.transformers_weight_conversion import (
    convert_peft_config_for_transformers,
    get_model_conversion_mapping,
)
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    BitsAndBytesConfig,
    PretrainedConfig,
    PreTrainedModel,
    TrainingArguments,
)
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers.initialization import no_init_weights
from transformers.pytorch_utils import Conv1D
from transformers.utils import (
    is_flash_attn_2_available,
    is_flash_attn_3_available,
    is_kernels_available,
)

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.loading import read_config
from tablemend.errors import TablemendError, install
from tablemend.recipe.experiment import Model, TrainingRecipe
from tablemend.recipe.training import Lora
from tablemend.runs import say
from tablemend.training import checkpoints, launch


def trainable_model(config: TrainingRecipe) -> PreTrainedModel:
    """The weights of model.path: on the CPU, or in 4 bits on this process's GPU.

    Parts that a text never passes through (a vision tower) are frozen.

    Raises:
        TablemendError: they cannot be loaded.
    """
    options: dict[str, Any] = {}
    if config.train.method == "qlora":
        # the settings of QLoRA (Dettmers et al. 2023, sections 3 and 4)
        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=torch.bfloat16,
        )
        options["device_map"] = {"": PartialState().local_process_index}
    say(f"loading the weights of {config.model.path}")
    model = checkpoints.load_model(config.model, **options)
    freeze_unused(model)
    launch.speed_up_cpu(model, config.train.precision)
    if config.train.compile:
        compile_layers(model)
    if config.train.method == "full" and model.dtype != torch.float32:
        print(
            f"warning: all weights are trained in {model.dtype}, where small updates round to "
            "nothing: set model.dtype=float32 (twice the memory), or train.method=lora"
        )
    return model


def trainer_parts(
    config: TrainingRecipe, tokenizer: Tokenizer, arguments: TrainingArguments
) -> dict[str, Any]:
    """What every trainer is built from; the arguments come first: the model asks them for ZeRO-3.

    Raises:
        TablemendError: the weights cannot be loaded, or have no layer that an adapter names.
    """
    model, lora = trainable_model(config), config.train.lora
    return {
        "recipe": config.train,
        "model": model,
        "args": arguments,
        "processing_class": tokenizer,
        "peft_config": lora_config(lora, model, config.model.revision) if lora else None,
    }


def trained_shapes(model: PreTrainedModel, config: TrainingRecipe) -> checkpoints.Shapes:
    """The tensors that a saved checkpoint must hold; of adapters, theirs alone."""
    if config.train.lora is None:
        return checkpoints.saved_shapes(model)
    saved = get_peft_model_state_dict(model, state_dict=checkpoints.without_values(model))
    return {name: tuple(weight.shape) for name, weight in saved.items()}


def freeze_unused(model: PreTrainedModel) -> None:
    """Train nothing that a text never passes through: DDP would wait for its gradients."""
    for name in unused_modules(model):
        model.get_submodule(name).requires_grad_(False)


def lora_config(
    lora: Lora, model: PreTrainedModel | None = None, revision: str | None = None
) -> LoraConfig:
    """The recipe's adapters, as PEFT says them.

    Args:
        lora: the recipe's section.
        model: gets none in what a text never passes through, and with ``all-linear`` none on
            what chooses its experts, but on each of them.
        revision: of the base, noted in the saved adapter, so that all who load it find that base.

    Raises:
        TablemendError: dropout before experts, which PEFT does not have.
    """
    targets = lora.target_modules
    left_out: list[str] = []
    if model is not None:
        left_out = unused_modules(model)
        if isinstance(targets, str):  # a router is trained only where it is named
            unadapted = ROUTERS + (MAMBA_ENDS if model.config.model_type in MAMBA else ())
            left_out += [
                name for name, _ in model.named_modules() if name.rpartition(".")[2] in unadapted
            ]
    outside = "|".join(re.escape(name) for name in left_out)
    found = LoraConfig(
        task_type="CAUSAL_LM",
        revision=revision,
        r=lora.r,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=targets if isinstance(targets, str) else list(targets),
        exclude_modules=rf"({outside})(\..*)?" if outside else None,
    )
    if model is not None and isinstance(targets, str):
        # PEFT (0.21) itself adds the router to all-linear in some architectures
        convert_peft_config_for_transformers(found, model, get_model_conversion_mapping(model))
        named = found.target_parameters or expert_weights(model)  # of others it knows no experts
        found.target_parameters = [one for one in named if one.split(".")[0] not in ROUTERS] or None
        if found.target_parameters and lora.dropout:
            raise TablemendError("train.lora.dropout: adapters on experts have none: set it to 0")
    return found


def expert_weights(model: PreTrainedModel) -> list[str]:
    """The weights of all experts of a layer in one, by the ends of their names."""
    found = {
        f"experts.{name}"
        for key, module in model.named_modules()
        if key.endswith(".experts")
        for name, weight in module.named_parameters(recurse=False)
        if weight.dim() == 3
    }
    return sorted(found)


ConfigT = TypeVar("ConfigT", bound=TrainingArguments)
CHECKPOINTING = (
    "activation_checkpointing"
    if "activation_checkpointing" in TrainingArguments.__dataclass_fields__
    else "gradient_checkpointing"
)
"""What the installed transformers calls it: the old name is deprecated, and vLLM takes no
transformers that has the new one."""


def options_of(config: TrainingRecipe, folder: str, validate: bool) -> dict[str, Any]:
    """The recipe as what all of TRL's configurations take.

    Raises:
        TablemendError: the batch does not divide over the devices, or a kill could lose every
            checkpoint.
    """
    train = config.train
    assert train.precision != "auto"  # stage.set_up settles it
    if train.trl.get("save_total_limit") == 1:
        raise TablemendError(
            "train.trl.save_total_limit=1 would delete a checkpoint before the next one is whole: "
            "give 2 or more"
        )
    return {
        "report_to": "none",
        "project": "tablemend",
        "run_name": Path(folder).parent.name,
        "dataloader_pin_memory": torch.accelerator.is_available(),
        "use_cpu": PartialState().device.type == "cpu",
        "save_total_limit": 2,  # the older one stays until the newer is marked complete
        "ddp_find_unused_parameters": False,  # all that trains is used in every pass
        "accelerator_config": {"use_configured_state": launch.reuses_state()},
        **train.trl,
        "output_dir": folder,
        "seed": config.seed,
        "data_seed": config.seed,
        "num_train_epochs": train.epochs or 1.0,
        "max_steps": train.max_steps or -1,
        "per_device_train_batch_size": train.micro_batch,
        "per_device_eval_batch_size": train.micro_batch,
        "gradient_accumulation_steps": train.accumulation(PartialState().num_processes),
        "learning_rate": train.learning_rate,
        "bf16": train.precision == "bfloat16",
        CHECKPOINTING: train.gradient_checkpointing,
        "save_strategy": "steps",
        "save_steps": train.save_every,
        "save_only_model": False,
        "ignore_data_skip": False,
        "logging_strategy": "steps",
        "logging_steps": train.log_every,
        "eval_strategy": "steps" if validate else "no",
        "eval_steps": train.save_every if validate else None,
        "prediction_loss_only": True,
        "include_num_input_tokens_seen": "non_padding",
    }


def make_config(cls: type[ConfigT], options: dict[str, Any]) -> ConfigT:
    """TRL's configuration.

    Raises:
        TablemendError: TRL refuses a value.
    """
    try:
        arguments: ConfigT = cls(**options)
    except (TypeError, ValueError) as error:
        raise TablemendError(f"train.trl: {error}") from error
    if arguments.device.type == "cpu":
        # transformers 5.17 would load optimizers onto cpu:0, which torch 2.13 does not know; no
        # issue found. Remove when a training resumes on a CPU without it (test_training_sft.py).
        arguments._setup_devices = torch.device("cpu")
    return arguments


LINEAR = nn.Linear | Conv1D
ADAPTABLE = LINEAR | nn.Embedding | nn.MultiheadAttention
"""What PEFT (0.21, ``dispatch_default``) can put an adapter on in a language model."""


def check_method(config: TrainingRecipe) -> None:
    """Refuse compiling, 4-bit weights and moved activations where they cannot be had.

    Raises:
        TablemendError: no GPU, no package for it, or a launch that shards 4-bit weights.
    """
    if config.train.trl.get("activation_offloading") and not torch.accelerator.is_available():
        raise TablemendError(
            "train.trl.activation_offloading moves activations from a GPU into the machine's "
            "memory, and there is no GPU here: leave it out"
        )
    compiler = os.environ.get("CXX", "g++")
    if config.train.compile and not (torch.accelerator.is_available() or shutil.which(compiler)):
        raise TablemendError(
            f"train.compile=true needs a C++ compiler on a CPU, and there is no {compiler} here: "
            "install one, name it in CXX, or set train.compile=false"
        )
    if config.train.method != "qlora":
        return
    if not torch.cuda.is_available():
        raise TablemendError(
            "train.method=qlora needs a CUDA GPU, where bitsandbytes keeps weights in 4 bits, and "
            "there is none here: set train.method=lora"
        )
    if find_spec("bitsandbytes") is None:
        raise TablemendError(
            f"train.method=qlora needs bitsandbytes: {install('qlora')}, or set train.method=lora"
        )
    stage = os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE")
    if parse_flag_from_env("ACCELERATE_USE_FSDP") or stage == "3":
        raise TablemendError(
            "train.method=qlora keeps whole 4-bit weights on every GPU: launch it with "
            "accelerate_configs/ddp.yaml or zero2.yaml, or set train.method=lora"
        )


def refuse_kernel(name: str) -> None:
    """Refuse an attention kernel that cannot train here, before anything is read.

    Raises:
        TablemendError: no flash attention is installed, or flex attention has no GPU.
    """
    flash = {
        "flash_attention_2": is_flash_attn_2_available(),
        "flash_attention_3": is_flash_attn_3_available(),
    }
    if not (flash.get(name, True) or is_kernels_available()):
        raise TablemendError(
            f"model.attn={name} is not installed: {install('gpu')} (kernels, which fetches it from "
            "the Hub), or set model.attn=sdpa or flex_attention"
        )
    found = [one for one, is_there in flash.items() if is_there]
    if name == "sdpa" and found and torch.cuda.is_available():
        say(f"FlashAttention is installed: model.attn={found[-1]} uses it")
    if name == "flex_attention" and PartialState().device.type == "cpu":
        raise TablemendError(
            "model.attn=flex_attention has no backward pass on CPUs: set model.attn=sdpa"
        )


def refuse_start(config: Model) -> None:
    """Refuse weights that no training can begin with; reads no weights.

    Raises:
        TablemendError: no checkpoint, an adapter (what is trained would be its base, without it),
            or quantised weights.
    """
    checkpoint = Checkpoint(config.path, config.revision)
    if checkpoint.adapter_base is not None:
        raise TablemendError(
            f"model.path={config.path} is an adapter, and a training would begin with its "
            "base: merge it first (train/merge.py), or train the start with lora.save: merged"
        )
    if checkpoints.quantisation_of(read_config(checkpoint)) not in ("", checkpoints.MXFP4):
        raise TablemendError(
            f"{config.path} is quantised: trained weights would be rounded away in it. Set "
            "model.path to the unquantised model; train.method=qlora loads that in 4 bits"
        )


def compile_layers(model: PreTrainedModel) -> None:
    """Compile the decoder's layers in place, for rows of any length; they share one graph.

    Raises:
        TablemendError: the model names no layers.
    """
    names = set(model._no_split_modules or ())
    layers = [one for one in model.get_decoder().modules() if type(one).__name__ in names]
    if not layers:
        raise TablemendError(f"{type(model).__name__} names no layers: set train.compile=false")
    for layer in layers:
        layer.compile(dynamic=True)


def check_targets(model: PreTrainedModel, targets: Sequence[str], unused: Sequence[str]) -> None:
    """PEFT or TRL would end in a traceback after the weights are read, pass over one name among
    others, or train one side alone of embeddings that are tied.

    Raises:
        TablemendError: naming the target, and what there is.
    """
    head, inputs = model.get_output_embeddings(), model.get_input_embeddings()
    for target in targets:
        at = [part for name, part in model.named_modules() if f".{name}".endswith(f".{target}")]
        if any(part is head for part in at):
            raise TablemendError(
                f"train.lora.target_modules names {target}, the head, whose weight TRL's loss "
                "(1.16) reads past an adapter: leave it out, or set train.method=full"
            )
        if (
            any(part is inputs for part in at)
            and model.config.get_text_config().tie_word_embeddings
        ):
            raise TablemendError(
                f"train.lora.target_modules names {target}, which is one weight with the head "
                "(tie_word_embeddings), and the adapter would change one of the two: leave it "
                "out, or set train.method=full"
            )
    outside = tuple(f"{name}." for name in unused)
    adaptable = [
        f".{name}"
        for name, layer in model.named_modules()
        if isinstance(layer, ADAPTABLE) and not name.startswith(outside)
    ]
    for target in targets:
        if not any(name.endswith(f".{target}") for name in adaptable):
            inside = model.get_decoder().named_modules()
            linear = [name.rpartition(".")[2] for name, one in inside if isinstance(one, LINEAR)]
            raise TablemendError(
                f"train.lora.target_modules=[{', '.join(targets)}] names {target}, which is no "
                f"layer that takes an adapter: the linear layers are "
                f"{', '.join(dict.fromkeys(linear))}, and all-linear means all of them"
            )


def refuse_recipe(config: TrainingRecipe, architecture: PretrainedConfig) -> None:
    """Refuse adapters and packing that an architecture does not take; reads no weights.

    Raises:
        TablemendError: see :func:`refuse_packing`, :func:`check_targets`, :func:`lora_config`.
    """
    if config.train.packing:
        refuse_packing(architecture)
    lora = config.train.lora
    if lora is not None and (lora.dropout or not isinstance(lora.target_modules, str)):
        try:
            with torch.device("meta"), no_init_weights():
                model = AutoModelForCausalLM.from_config(architecture)
        except ValueError:  # transformers does not know it: refused once it is loaded
            return
        if isinstance(lora.target_modules, str):
            lora_config(lora, model)
        else:
            check_targets(model, lora.target_modules, unused_modules(model))


def unused_modules(model: PreTrainedModel) -> list[str]:
    """The outermost modules with weights that lie outside decoder, embedding and head."""
    ends = (model.get_input_embeddings(), model.get_output_embeddings(), model.get_decoder())
    used = {id(weight) for end in ends if end is not None for weight in end.parameters()}

    def below(module: nn.Module, prefix: str) -> list[str]:
        found = []
        for name, child in module.named_children():
            weights = [id(weight) for weight in child.parameters()]
            if weights and not used.intersection(weights):
                found.append(prefix + name)
            elif not used.issuperset(weights):
                found += below(child, f"{prefix}{name}.")
        return found

    return below(model, "")


ROUTERS = ("gate", "router", "shared_expert_gate")
"""What layers that choose experts are called in transformers; their own makers train none of them
with adapters (Qwen's guide to fine-tuning)."""
MAMBA = ("falcon_h1", "falcon_mamba", "mamba", "mamba2", "nemotron_h")
MAMBA_ENDS = ("out_proj",)
"""Where a kernel of Mamba reads a weight past its adapter, which PEFT (0.21) refuses."""


MASKED = ("sdpa", "eager", launch.CPU_ATTENTION)
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
