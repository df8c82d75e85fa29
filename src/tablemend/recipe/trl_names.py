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
    "SDFTConfig": "../experimental/sdft/sdft_config.py",
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


_DECIDES = {
    "run": "output_dir",
    "seed": "seed data_seed",
    "model": "model_init_kwargs",
    "the tokenizer of model.path": "chat_template_path eos_token pad_token",
    "train.micro_batch": "per_device_train_batch_size per_device_eval_batch_size",
    "train.global_batch and train.micro_batch": "gradient_accumulation_steps",
    "train.global_batch": "generation_batch_size steps_per_generation",
    "train.epochs": "num_train_epochs",
    "train.max_steps": "max_steps",
    "train.max_length (nothing is ever cut)": "max_length truncation_mode",
    "train.learning_rate": "learning_rate",
    "train.scheduler": "lr_scheduler_type lr_scheduler_kwargs",
    "train.warmup": "warmup_steps",
    "train.precision": "bf16 fp16",
    "train.gradient_checkpointing": "gradient_checkpointing gradient_checkpointing_kwargs",
    "the trainer's own loss": "use_liger_kernel liger_kernel_config",
    "train.packing": "packing packing_strategy padding_free eval_packing",
    "train.save_every": "save_strategy save_steps",
    "train.evaluate": "load_best_model_at_end metric_for_best_model greater_is_better "
    "eval_strategy eval_steps",
    "train.log_every": "logging_strategy logging_steps",
    "overwrite (resuming is the default)": "resume_from_checkpoint save_only_model "
    "ignore_data_skip",
    "the launch (accelerate_configs/)": "parallelism_config",
    "the trainer (AdamW)": "optim optim_target_modules",
    "the order of rows": "train_sampling_strategy length_column_name shuffle_dataset",
    "the renderer": "remove_unused_columns dataset_kwargs dataset_text_field dataset_num_proc "
    "chat_template_kwargs max_prompt_length teacher_prompt_template",
    "the renderer (loss on the answer and its end of turn alone)": "completion_only_loss "
    "assistant_only_loss",
    "dpo.beta or grpo.beta": "beta",
    "dpo.sft_weight": "loss_weights",
    "dpo.precompute_reference": "precompute_ref_log_probs",
    "grpo.group (distil: one answer)": "num_generations",
    "grpo.temperature or distil.temperature": "temperature",
    "grpo.max_new_tokens or distil.max_new_tokens": "max_completion_length",
    "grpo.iterations (distil: one)": "num_iterations",
    "grpo.reward": "reward_weights",
    "grpo.engine or distil.engine": "use_vllm vllm_mode",
    "grpo.server or distil.server": "vllm_server_base_url vllm_server_host vllm_server_port",
    "distil.beta": "distillation_alpha distillation_mode distillation_topk distillation_add_tail",
    "distil.clip": "distillation_is_clip",
    "distil.teacher": "teacher_model_kind use_teacher_server",
}
OWNED = {name: key for key, names in _DECIDES.items() for name in names.split()}
"""Fields of TRL's configurations that a key of the recipe decides, and which."""
