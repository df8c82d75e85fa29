"""Files of a checkpoint after step 10 under each strategy; the launched tests compare real ones."""

from __future__ import annotations

_ALL = {"launch.json", "scheduler.pt", "trainer_state.json"}
_WHOLE = _ALL | {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json"}
_TWO = {"rng_state_0.pth", "rng_state_1.pth"}


def _shares(folder: str, *names: str) -> set[str]:
    return {f"{folder}/{name.format(rank)}" for name in names for rank in (0, 1)}


LAYOUTS = {
    "single": _WHOLE | {"optimizer.pt", "rng_state.pth"},
    "ddp": _WHOLE | _TWO | {"optimizer.pt"},
    "zero2": _WHOLE
    | _TWO
    | {"latest", "global_step10/mp_rank_00_model_states.pt"}
    | _shares("global_step10", "zero_pp_rank_{}_mp_rank_00_optim_states.pt"),
    "zero3": _WHOLE
    | _TWO
    | {"latest"}
    | _shares(
        "global_step10",
        "zero_pp_rank_{}_mp_rank_00_model_states.pt",
        "zero_pp_rank_{}_mp_rank_00_optim_states.pt",
    ),
    "fsdp2": _ALL
    | _TWO
    | {"optimizer_0/.metadata", "pytorch_model_fsdp_0/.metadata"}
    | _shares("optimizer_0", "__{}_0.distcp")
    | _shares("pytorch_model_fsdp_0", "__{}_0.distcp"),
}
