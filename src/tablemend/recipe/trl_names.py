"""The field names of TRL's configurations, so that a recipe is checked without importing torch.

``tests/unit/config/test_config.py`` compares them with the installed TRL (1.16).
"""

from __future__ import annotations

_COMMON = frozenset(
    """
    accelerator_config adam_beta1 adam_beta2 adam_epsilon auto_find_batch_size
    average_tokens_across_devices batch_eval_metrics bf16 bf16_full_eval data_seed
    dataloader_drop_last dataloader_in_order dataloader_multiprocessing_context
    dataloader_num_workers dataloader_persistent_workers
    dataloader_pin_memory dataloader_prefetch_factor ddp_backend ddp_broadcast_buffers
    ddp_bucket_cap_mb ddp_find_unused_parameters ddp_static_graph ddp_timeout debug deepspeed
    disable_tqdm do_eval do_predict do_train enable_jit_checkpoint eval_accumulation_steps
    eval_delay eval_do_concat_batches eval_on_start eval_steps eval_strategy
    eval_use_gather_object fp16 fp16_full_eval fsdp fsdp_config full_determinism
    gradient_accumulation_steps gradient_checkpointing gradient_checkpointing_kwargs
    greater_is_better hub_always_push hub_model_id hub_private_repo hub_revision hub_strategy
    hub_token ignore_data_skip include_for_metrics include_num_input_tokens_seen label_names
    label_smoothing_factor learning_rate length_column_name liger_kernel_config
    load_best_model_at_end local_rank log_level log_level_replica log_on_each_node
    logging_first_step logging_nan_inf_filter logging_steps logging_strategy loss_type
    lr_scheduler_kwargs lr_scheduler_type max_grad_norm max_steps metric_for_best_model
    model_init_kwargs neftune_noise_alpha num_train_epochs optim optim_args
    optim_target_modules output_dir pad_to_multiple_of parallelism_config
    per_device_eval_batch_size per_device_train_batch_size prediction_loss_only project
    push_to_hub remove_unused_columns report_to restore_callback_states_from_checkpoint
    resume_from_checkpoint router_aux_loss_coef run_name save_on_each_node save_only_model
    save_steps save_strategy save_total_limit seed skip_memory_metrics tf32 torch_compile
    torch_compile_backend torch_compile_mode torch_empty_cache_steps trackio_bucket_id
    trackio_space_id trackio_static_space_id train_sampling_strategy trust_remote_code
    use_cache use_cpu use_liger_kernel warmup_steps weight_decay
    """.split()
)

TRL_NAMES = {
    "SFTConfig": _COMMON
    | frozenset(
        """
        activation_offloading assistant_only_loss chat_template_path completion_only_loss
        dataset_kwargs dataset_num_proc dataset_text_field eos_token eval_packing
        max_length packing packing_strategy pad_token padding_free shuffle_dataset
        truncation_mode
        """.split()
    ),
    "DPOConfig": _COMMON
    | frozenset(
        """
        activation_offloading beta dataset_num_proc disable_dropout discopop_tau
        f_alpha_divergence_coef f_divergence_type label_smoothing ld_alpha loss_weights
        max_length pad_token padding_free precompute_ref_batch_size
        precompute_ref_log_probs ref_model_mixup_alpha ref_model_sync_steps sync_ref_model
        truncation_mode use_weighting
        """.split()
    ),
    "GRPOConfig": _COMMON
    | frozenset(
        """
        beta cache_implementation cast_lm_head_to_fp32 chat_template_kwargs delta
        disable_dropout ds3_gather_for_generation entropy_coef entropy_coef_delta
        entropy_coef_max entropy_coef_min entropy_target epsilon epsilon_high
        generation_batch_size generation_kwargs importance_sampling_level log_completions
        log_completions_hub_repo log_multimodal log_unique_prompts
        mask_truncated_completions max_completion_length max_tool_calling_iterations min_p
        multi_objective_aggregation num_completions_to_print num_generations
        num_generations_eval num_iterations off_policy_mask_threshold
        ref_model_mixup_alpha ref_model_sync_steps repetition_penalty reward_weights
        sapo_temperature_neg sapo_temperature_pos scale_rewards shuffle_dataset
        steps_per_generation sync_ref_model temperature top_entropy_quantile top_k top_p
        transformers_continuous_batching_config use_adaptive_entropy
        use_bias_correction_kl use_transformers_continuous_batching use_transformers_paged
        use_vllm vespo_k_neg vespo_k_pos vespo_lambda_neg vespo_lambda_pos
        vllm_enable_sleep_mode vllm_gpu_memory_utilization vllm_group_port
        vllm_importance_sampling_cap vllm_importance_sampling_clip_max
        vllm_importance_sampling_clip_min vllm_importance_sampling_correction
        vllm_importance_sampling_mode vllm_max_model_length vllm_mode vllm_model_impl
        vllm_server_base_url vllm_server_host vllm_server_port vllm_server_timeout
        vllm_structured_outputs_regex vllm_tensor_parallel_size
        """.split()
    ),
}
"""Fields of each configuration, by its name."""

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
    "weight_decay": "train.weight_decay",
    "max_grad_norm": "train.max_grad_norm",
    "bf16": "train.precision",
    "fp16": "train.precision",
    "gradient_checkpointing": "train.gradient_checkpointing",
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
        "label_smoothing": "dpo.label_smoothing",
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
        "loss_type": "grpo.loss",
        "num_generations": "grpo.group",
        "temperature": "grpo.temperature",
        "max_completion_length": "grpo.max_new_tokens",
        "epsilon": "grpo.epsilon",
        "epsilon_high": "grpo.epsilon_high",
        "scale_rewards": "grpo.scale_rewards",
        "num_iterations": "grpo.iterations",
        "reward_weights": "grpo.reward",
        "mask_truncated_completions": "grpo.mask_truncated",
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
    "label_smoothing_factor": "leave it out (DPO: dpo.label_smoothing)",
    "loss_type: chunked_nll": "chunked_nll is nll, the default; leave it out",
    "use_transformers_paged": "set use_transformers_continuous_batching",
    "vllm_importance_sampling_cap": "set vllm_importance_sampling_clip_max",
}
"""What TRL 1.16 still takes and 2.0 will not, fields or values, and what to do instead."""
