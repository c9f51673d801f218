"""libllama and ggml through ctypes; the library is loaded on demand, once per worker."""

import ctypes
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from app.findings import FindingCode, FindingError, error

ENGINE_NAME: Final = "worker"
GGML_DLLS: Final = ("ggml.dll", "ggml-base.dll", "ggml-cpu.dll", "ggml-rpc.dll")


class SymbolMissingError(Exception):
    """This build of the library has no such function."""


@dataclass(frozen=True, slots=True)
class Library:
    """The engine's library.

    Attributes:
        llama: The module `llama_cpp.llama_cpp`: functions, structures and constants as in llama.h.
        ggml_libraries: Where ggml's own functions are, searched in order.
    """

    llama: Any
    ggml_libraries: tuple[Any, ...]

    def function(self, name: str, result: Any, *arguments: Any) -> Any:
        """Return a function llama_cpp does not bind, e.g. `ggml_backend_dev_count`.

        Raises:
            SymbolMissingError: this build does not have it.
        """
        for library in self.ggml_libraries:
            try:
                # item access gives a fresh object, so that types set here change nothing for llama_cpp
                function = library[name]
            except AttributeError:
                continue
            function.restype = result
            function.argtypes = list(arguments)
            return function
        raise SymbolMissingError(name)

    def has_field(self, structure: ctypes.Structure, name: str) -> bool:
        """Say whether a C structure has this field; ctypes takes any attribute name in silence."""
        return any(field[0] == name for field in structure._fields_)


def load_library() -> Library:
    """Load llama-cpp-python's library and start its backends.

    Raises:
        FindingError: `ENGINE_MISSING` without the package, `ENGINE_START_FAILED` when its library
            does not load.
    """
    try:
        from llama_cpp import llama_cpp
    except ImportError as reason:
        raise FindingError(error(FindingCode.ENGINE_MISSING, name=ENGINE_NAME)) from reason
    except (OSError, RuntimeError, AttributeError) as reason:
        values = {"engine": ENGINE_NAME, "detail": str(reason)}
        raise FindingError(error(FindingCode.ENGINE_START_FAILED, **values)) from reason
    llama_cpp.llama_backend_init()
    return Library(llama_cpp, _ggml_libraries(llama_cpp))


def _ggml_libraries(llama_cpp: Any) -> tuple[Any, ...]:
    """Return handles of the very instances libllama uses.

    Wheels hold `libggml.so` and `libggml.so.0` as two files: opening the wrong one gives a second,
    separate device registry. On Linux dlsym on libllama's handle finds the right one; on Windows a
    module is unique by its name.
    """
    if sys.platform != "win32":
        return (llama_cpp._lib,)
    folder = Path(llama_cpp._lib._name).parent
    present = [folder / name for name in GGML_DLLS if (folder / name).exists()]
    return (llama_cpp._lib, *(ctypes.CDLL(str(file)) for file in present))
