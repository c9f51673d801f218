"""The environment of engine processes: made by us, so that nothing inherited decides what they do."""

from collections.abc import Mapping
from typing import Final

_ENGINE_PREFIXES: Final = ("LLAMA_", "GGML_", "HF_")
"""llama.cpp takes options (`LLAMA_ARG_CTX_SIZE`), devices (`GGML_VK_VISIBLE_DEVICES`) and keys from these."""

_PYTHON_KEPT: Final = frozenset({"PYTHONHOME", "PYTHONPATH"})
"""Where this very Python and its packages lie; the rest of `PYTHON*` changes how code runs."""

_CUDA_LIST: Final = "CUDA_VISIBLE_DEVICES"

_OWN_VULKAN_LIST: Final = "MOXIE_VK_VISIBLE_DEVICES"
_VULKAN_LIST: Final = "GGML_VK_VISIBLE_DEVICES"

_LIBRARY_PATH: Final = "LD_LIBRARY_PATH"


def engine_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a worker or an engine started from one whose own is `base`.

    Dropped: engine options, proxies (the engine talks to nobody but us), Python switches. Everything
    else stays, since drivers and the system need more than a list could name: `PATH`, `HOME`,
    `SystemRoot`, `TEMP`, `CUDA_VISIBLE_DEVICES`, `CUDA_PATH`, `VK_ICD_FILENAMES`, `MOXIE_HOME` and
    so on. `LD_LIBRARY_PATH` stays too (CUDA is often found through it), but as it was before a frozen
    program's loader changed it. CUDA counts cards in the order of the bus, as the driver library does, unless
    an inherited list counts them in another way. `MOXIE_VK_VISIBLE_DEVICES`, which we
    set ourselves, becomes the engine's own name: what was inherited under that one is dropped.
    """
    kept = {name: value for name, value in base.items() if _is_kept(name)}
    before_freezing = kept.pop(f"{_LIBRARY_PATH}_ORIG", None)
    if before_freezing is not None:
        kept[_LIBRARY_PATH] = before_freezing
    if not any(number.strip().isdecimal() for number in kept.get(_CUDA_LIST, "").split(",")):
        kept.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    if _OWN_VULKAN_LIST in kept:
        kept[_VULKAN_LIST] = kept[_OWN_VULKAN_LIST]
    return kept | {
        "GGML_NO_BACKTRACE": "1",  # a failed assert must not wait for a debugger
        "PYTHONUTF8": "1",
    }


def _is_kept(name: str) -> bool:
    upper = name.upper()
    if upper.startswith(_ENGINE_PREFIXES) or upper.endswith("_PROXY"):
        return False
    return not upper.startswith("PYTHON") or upper in _PYTHON_KEPT
