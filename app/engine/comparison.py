"""Asked against applied: what an engine did not do as told becomes a finding. Pure."""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from app.engine.protocol import Hello
from app.findings import Finding, FindingCode, warning
from app.options import ALL_LAYERS, EngineOptions

_CONTEXT_STEP: Final = 256
_GPU_KINDS: Final = ("gpu", "igpu")


def gpu_findings(options: EngineOptions, hello: Hello) -> tuple[Finding, ...]:
    """Return a warning when the plan wants a GPU and the engine sees none.

    RPC servers join at load time, after `Hello`: with any asked for there is nothing to judge yet.
    """
    wants_gpu = options.n_gpu_layers > 0 or bool(options.devices)
    sees_gpu = any(device.kind in _GPU_KINDS for device in hello.devices)
    if not wants_gpu or sees_gpu or options.rpc_servers:
        return ()
    seen = tuple(device.name for device in hello.devices)
    return (
        warning(
            FindingCode.ENGINE_GPU_UNSEEN,
            engine=hello.engine,
            n_gpu_layers=options.n_gpu_layers,
            asked_devices=options.devices,
            seen_devices=seen,
        ),
    )


def option_findings(asked: EngineOptions, applied: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return a warning for each option the engine reports in force with another value.

    Not worth a word: values left to the engine (`auto`, 0 or empty for "your choice"), a context
    rounded up to the engine's step of 256, batches cut to the context, fewer layers than "all", and servers
    of which no device was asked for.
    """
    found = []
    for f in fields(asked):
        if f.name not in applied:
            continue
        want, got = getattr(asked, f.name), _tupled(applied[f.name])
        if _equal(want, got) or _is_harmless(f.name, want, got, applied):
            continue
        if f.name == "rpc_servers" and asked.devices and set(got) < set(want):
            continue
        found.append(
            warning(FindingCode.OPTION_NOT_APPLIED, name=f.name, asked=_shown(want), applied=_shown(got))
        )
    return tuple(found)


def _is_harmless(name: str, want: Any, got: Any, applied: Mapping[str, Any]) -> bool:
    if want in ("auto", ()):
        return True
    if not isinstance(want, int) or not isinstance(got, int):
        return False
    match name:
        case "n_ctx":
            return want == 0 or 0 < got - want < _CONTEXT_STEP
        case "n_gpu_layers":
            return want == ALL_LAYERS and 0 < got < want
        case "n_batch" | "n_ubatch":
            return got < want and got in (applied.get("n_ctx"), applied.get("n_batch"))
    return False


def _equal(want: Any, got: Any) -> bool:
    if isinstance(want, tuple) and isinstance(got, tuple):
        return len(want) == len(got) and all(_equal(a, b) for a, b in zip(want, got, strict=True))
    if isinstance(want, float) and isinstance(got, int | float):
        return math.isclose(want, got, rel_tol=1e-5)  # engines keep 32-bit floats
    return bool(want == got)


def _tupled(value: Any) -> Any:
    return tuple(_tupled(item) for item in value) if isinstance(value, list | tuple) else value


def _shown(value: Any) -> str | int | float | bool | None:
    return str(list(value)) if isinstance(value, tuple) else value
