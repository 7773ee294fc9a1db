"""Which arithmetic bulk encoding runs in, and what a CPU has instructions for."""

from __future__ import annotations

import torch

from mirror_index.config import Precision
from mirror_index.errors import EncoderError


def _cpu_has(*names: str) -> bool:
    """Return whether torch sees one of these instruction sets; the questions are private to it."""
    checks = (getattr(torch.cpu, f"_is_{name}_supported", None) for name in names)
    return any(check() for check in checks if check is not None)


def cpu_has_bfloat16() -> bool:
    """Return whether this CPU multiplies bfloat16 in hardware (AVX-512 BF16 or AMX)."""
    return _cpu_has("avx512_bf16", "amx_tile")


def cpu_has_int8() -> bool:
    """Return whether this CPU multiplies 8-bit integers in hardware (AVX-512 VNNI)."""
    return _cpu_has("vnni", "avx512_vnni") and hasattr(torch.ops.onednn, "qlinear_pointwise")


def resolve_precision(wish: Precision, device: torch.device) -> Precision:
    """Return the arithmetic for a device: the one asked for, or the fastest faithful one.

    Raises:
        EncoderError: float16 on a CPU, where it is slower than float32 and unsafe for some models;
            int8 anywhere but on a CPU with instructions for it.
    """
    if wish is Precision.FLOAT16 and device.type == "cpu":
        raise EncoderError(
            "float16 is for GPUs", value=device.type, remedy="Use --precision auto on a CPU"
        )
    if wish is Precision.INT8 and (device.type != "cpu" or not cpu_has_int8()):
        raise EncoderError(
            "int8 is for CPUs with AVX-512 VNNI",
            value=device.type,
            remedy="Use --precision auto",
        )
    if wish is not Precision.AUTO:
        return wish
    if device.type == "cuda":
        return Precision.BFLOAT16 if torch.cuda.is_bf16_supported() else Precision.FLOAT16
    return Precision.BFLOAT16 if cpu_has_bfloat16() else Precision.FLOAT32
