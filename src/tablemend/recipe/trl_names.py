"""The fields of TRL's configurations, read from its source: a recipe is checked without torch."""

from __future__ import annotations

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path

FILES = {
    "SFTConfig": "sft_config.py",
    "DPOConfig": "dpo_config.py",
    "GRPOConfig": "grpo_config.py",
}


@cache
def trl_fields(name: str) -> frozenset[str]:
    """The fields of a configuration of the installed TRL; none where it is not installed."""
    trl, transformers = find_spec("trl"), find_spec("transformers")
    if trl is None or trl.origin is None or transformers is None or transformers.origin is None:
        return frozenset()
    trainer = Path(trl.origin).parent / "trainer"
    files = (
        trainer / FILES[name],
        trainer / "base_config.py",
        Path(transformers.origin).parent / "training_args.py",
    )
    return frozenset(
        field.target.id
        for file in files
        for part in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(part, ast.ClassDef)
        for field in part.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    )


_OWNED = {
    "output_dir": "run",
    "per_device_train_batch_size": "train.micro_batch",
    "per_device_eval_batch_size": "train.micro_batch",
    "gradient_accumulation_steps": "train.global_batch and train.micro_batch",
    "num_train_epochs": "train.epochs",
    "max_steps": "train.max_steps",
    "learning_rate": "train.learning_rate",
    "lr_scheduler_type": "train.scheduler",
    "lr_scheduler_kwargs": "train.scheduler",
    "warmup_steps": "train.warmup",
    "optim": "the trainer (AdamW)",
    "optim_target_modules": "the trainer (AdamW)",
    "bf16": "train.precision",
    "fp16": "train.precision",
    "gradient_checkpointing": "train.gradient_checkpointing",
    "gradient_checkpointing_kwargs": "train.gradient_checkpointing",
    "model_init_kwargs": "model",
    "seed": "seed",
    "data_seed": "seed",
    "save_strategy": "train.save_every",
    "save_steps": "train.save_every",
    "logging_strategy": "train.log_every",
    "logging_steps": "train.log_every",
    "resume_from_checkpoint": "overwrite (resuming is the default)",
    "save_only_model": "overwrite (resuming is the default)",
    "ignore_data_skip": "overwrite (resuming is the default)",
    "train_sampling_strategy": "the length-grouped sampler",
    "parallelism_config": "the launch (accelerate_configs/)",
    "length_column_name": "the length-grouped sampler",
    "remove_unused_columns": "the renderer",
}

OWNED = {
    "SFTConfig": _OWNED
    | {
        "packing": "train.packing",
        "packing_strategy": "train.packing",
        "padding_free": "train.packing",
        "eval_packing": "train.packing",
        "max_length": "train.max_length (nothing is ever cut)",
        "truncation_mode": "train.max_length (nothing is ever cut)",
        "chat_template_path": "the tokenizer of model.path",
        "eos_token": "the tokenizer of model.path",
        "pad_token": "the tokenizer of model.path",
        "completion_only_loss": "the renderer (loss on the answer and its end of turn alone)",
        "assistant_only_loss": "the renderer (loss on the answer and its end of turn alone)",
        "dataset_kwargs": "the renderer",
        "dataset_text_field": "the renderer",
        "dataset_num_proc": "the renderer",
        "shuffle_dataset": "the length-grouped sampler",
    },
    "DPOConfig": _OWNED
    | {
        "beta": "dpo.beta",
        "loss_type": "dpo.loss",
        "loss_weights": "dpo.sft_weight",
        "precompute_ref_log_probs": "dpo.precompute_reference",
        "max_length": "train.max_length (nothing is ever cut)",
        "truncation_mode": "train.max_length (nothing is ever cut)",
        "padding_free": "train.packing",
        "pad_token": "the tokenizer of model.path",
        "dataset_num_proc": "the renderer",
    },
    "GRPOConfig": _OWNED
    | {
        "beta": "grpo.beta",
        "num_generations": "grpo.group",
        "temperature": "grpo.temperature",
        "max_completion_length": "grpo.max_new_tokens",
        "num_iterations": "grpo.iterations",
        "reward_weights": "grpo.reward",
        "use_vllm": "grpo.engine",
        "vllm_mode": "grpo.engine",
        "vllm_server_base_url": "grpo.server",
        "vllm_server_host": "grpo.server",
        "vllm_server_port": "grpo.server",
        "generation_batch_size": "train.global_batch",
        "steps_per_generation": "train.global_batch",
        "shuffle_dataset": "the sampler",
        "chat_template_kwargs": "the renderer",
    },
}
"""Fields of each configuration that a key of the recipe decides, and which."""

DEPRECATED = {
    "use_liger_kernel": "set model.kernels",
    "liger_kernel_config": "set model.kernels",
    "label_smoothing_factor": "leave it out (DPO: train.trl.label_smoothing)",
    "loss_type: chunked_nll": "chunked_nll is nll, the default; leave it out",
    "use_transformers_paged": "set use_transformers_continuous_batching",
    "vllm_importance_sampling_cap": "set vllm_importance_sampling_clip_max",
}
"""What TRL 1.16 still takes and 2.0 will not, fields or values, and what to do instead."""
