"""The field names of ``trl.SFTConfig``, so that a recipe is checked without importing torch.

``tests/test_config.py`` compares them with the installed TRL (1.16).
"""

from __future__ import annotations

TRL_NAMES = frozenset(
    """
    accelerator_config activation_checkpointing activation_checkpointing_kwargs
    activation_offloading adam_beta1 adam_beta2 adam_epsilon assistant_only_loss
    auto_find_batch_size average_tokens_across_devices batch_eval_metrics bf16 bf16_full_eval
    chat_template_path completion_only_loss data_seed dataloader_drop_last dataloader_in_order
    dataloader_multiprocessing_context dataloader_num_workers dataloader_persistent_workers
    dataloader_pin_memory dataloader_prefetch_factor dataset_kwargs dataset_num_proc
    dataset_text_field ddp_backend ddp_broadcast_buffers ddp_bucket_cap_mb
    ddp_find_unused_parameters ddp_static_graph ddp_timeout debug deepspeed disable_tqdm
    do_eval do_predict do_train enable_jit_checkpoint eos_token eval_accumulation_steps
    eval_delay eval_do_concat_batches eval_on_start eval_packing eval_steps eval_strategy
    eval_use_gather_object fp16 fp16_full_eval fsdp fsdp_config full_determinism
    gradient_accumulation_steps gradient_checkpointing gradient_checkpointing_kwargs
    greater_is_better hub_always_push hub_model_id hub_private_repo hub_revision hub_strategy
    hub_token ignore_data_skip include_for_metrics include_num_input_tokens_seen label_names
    label_smoothing_factor learning_rate length_column_name liger_kernel_config
    load_best_model_at_end local_rank log_level log_level_replica log_on_each_node
    logging_first_step logging_nan_inf_filter logging_steps logging_strategy loss_type
    lr_scheduler_kwargs lr_scheduler_type max_grad_norm max_length max_steps
    metric_for_best_model model_init_kwargs neftune_noise_alpha num_train_epochs optim
    optim_args optim_target_modules output_dir packing packing_strategy pad_to_multiple_of
    pad_token padding_free parallelism_config per_device_eval_batch_size
    per_device_train_batch_size prediction_loss_only project push_to_hub remove_unused_columns
    report_to restore_callback_states_from_checkpoint resume_from_checkpoint
    router_aux_loss_coef run_name save_on_each_node save_only_model save_steps save_strategy
    save_total_limit seed shuffle_dataset skip_memory_metrics tf32 torch_compile
    torch_compile_backend torch_compile_mode torch_empty_cache_steps trackio_bucket_id
    trackio_space_id trackio_static_space_id train_sampling_strategy truncation_mode
    trust_remote_code use_cache use_cpu use_liger_kernel warmup_steps weight_decay
    """.split()
)

OWNED = {
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
    "optim": "train.optimizer",
    "optim_target_modules": "train.optimizer",
    "weight_decay": "train.weight_decay",
    "max_grad_norm": "train.max_grad_norm",
    "bf16": "train.precision",
    "fp16": "train.precision",
    "activation_checkpointing": "train.gradient_checkpointing",
    "gradient_checkpointing": "train.gradient_checkpointing",
    "packing": "train.packing",
    "packing_strategy": "train.packing",
    "padding_free": "train.packing",
    "eval_packing": "train.packing",
    "max_length": "train.max_length (nothing is ever cut)",
    "truncation_mode": "train.max_length (nothing is ever cut)",
    "model_init_kwargs": "model",
    "seed": "seed",
    "data_seed": "seed",
    "save_strategy": "train.save_every",
    "save_steps": "train.save_every",
    "logging_strategy": "train.log_every",
    "logging_steps": "train.log_every",
    "resume_from_checkpoint": "overwrite (resuming is the default)",
    "chat_template_path": "the tokenizer of model.path",
    "eos_token": "the tokenizer of model.path",
    "pad_token": "the tokenizer of model.path",
    "completion_only_loss": "the renderer (loss on the answer and its end of turn alone)",
    "assistant_only_loss": "the renderer (loss on the answer and its end of turn alone)",
    "dataset_kwargs": "the renderer",
    "dataset_text_field": "the renderer",
    "dataset_num_proc": "the renderer",
    "shuffle_dataset": "the length-grouped sampler",
    "train_sampling_strategy": "the length-grouped sampler",
    "length_column_name": "the length-grouped sampler",
    "remove_unused_columns": "the renderer",
}
"""Fields of trl.SFTConfig that a key of the recipe decides, and which."""
