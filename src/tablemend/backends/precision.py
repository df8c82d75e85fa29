"""Which type of numbers to compute in: bfloat16 where the device has it, else float32."""

from __future__ import annotations

import platform
from functools import cache

import torch


def device_type() -> str:
    """Type of the accelerator that is here, else ``cpu``."""
    found = torch.accelerator.current_accelerator()
    return found.type if found is not None and torch.accelerator.is_available() else "cpu"


@cache
def has_bfloat16(device: str) -> bool:
    """Whether a type of device has instructions for bfloat16 (CPUs: AMX, AVX512-BF16, Arm's).

    Other CPUs emulate it, 50 to 150 times slower than float32.
    """
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device != "cpu":
        return True
    # oneDNN's own answer heeds ONEDNN_MAX_CPU_ISA, but takes AVX512 without BF16 as enough
    has_onednn: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not has_onednn or not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return False
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    return not is_x86 or torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def loaded_dtype(dtype: str, device: str | None = None) -> str:
    """What weights are loaded as: ``auto``, which is as stored, where the device can compute in it.

    Args:
        dtype: ``float32``, ``bfloat16`` or ``auto``.
        device: type of the device that computes; the accelerator where there is one.
    """
    if dtype == "auto" and not has_bfloat16(device or device_type()):
        return "float32"
    return dtype


def emulation(setting: str, dtype: str, device: str) -> str | None:
    """A warning where bfloat16 was asked for and the device emulates it.

    Args:
        setting: the key that asks, such as ``train.precision``.
        dtype: its value.
        device: type of the device that computes.
    """
    if dtype != "bfloat16" or has_bfloat16(device):
        return None
    return (
        f"warning: {setting}=bfloat16, which this device emulates, 50 to 150 times "
        f"slower than float32: set {setting}=auto"
    )
