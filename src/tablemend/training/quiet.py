"""Libraries' warnings that nobody who trains can act on, each by its words or its module."""

from __future__ import annotations

import warnings

SILENCED: tuple[tuple[type[Warning], str, str], ...] = (
    # PEFT 0.21 looks for the ranks of fused experts among modules; parameters have them. Since
    # https://github.com/huggingface/peft/pull/3588; remove when that knows target_parameters.
    (RuntimeWarning, r"The following (rank|alpha)_pattern keys did not match", "peft"),
    # DeepSpeed 0.19 calls names that torch 2.13 calls old, every step; remove with 0.20
    (FutureWarning, "", "torch.distributed"),
)
"""Kind, beginning of the message, and module that it is said of."""


def silence() -> None:
    """Say them no more in this process; every other warning is shown."""
    for category, message, module in SILENCED:
        warnings.filterwarnings("ignore", message, category, module)
