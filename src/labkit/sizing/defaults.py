"""Defaults that depend on the machine: what a person who names no number format means."""

from __future__ import annotations

from labkit.catalog.formats import number_format
from labkit.catalog.specs import Instance
from labkit.sizing.device import device_of


def default_kv_format(weights: str, instance: Instance) -> str:
    """The 16-bit format that weights of this format are computed in, on this machine.

    Raises UnknownNameError for a weight format that does not exist.
    """
    fmt = number_format(weights)
    wanted = fmt.name if fmt.bits >= 16 else fmt.compute_dtype
    if wanted in {"fp16", "fp32"}:
        return wanted
    device = device_of(instance)
    no_bf16 = (
        device.accelerator is not None
        and device.rates_known
        and not (device.accelerator.peak_flops("bf16"))
    )
    return "fp16" if no_bf16 and fmt.bits < 16 else "bf16"
