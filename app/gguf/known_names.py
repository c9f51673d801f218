"""Names that llama.cpp knows, and since which build, as far as that is known.

The names are those of the built-in worker's engine; `build` is a release known to take the name, found in
that release itself or in reports of it, so an older one may do as well.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Final

from app.paths import resource_path

ARCHITECTURES: Final = "architectures"
PRE_TOKENIZERS: Final = "pre_tokenizers"


def is_known_architecture(name: str) -> bool:
    """Return whether the built-in worker's engine loads this `general.architecture`."""
    return name in _names(ARCHITECTURES)


def is_known_pre_tokenizer(name: str) -> bool:
    """Return whether the built-in worker's engine takes this `tokenizer.ggml.pre`."""
    return name in _names(PRE_TOKENIZERS)


def build_with_architecture(name: str) -> int | None:
    """Return a build of llama.cpp known to load the architecture; None when none is known to."""
    return _names(ARCHITECTURES).get(name)


def build_with_pre_tokenizer(name: str) -> int | None:
    """Return a build of llama.cpp known to take the pre-tokenizer; None when none is known to."""
    return _names(PRE_TOKENIZERS).get(name)


@cache
def _names(kind: str) -> Mapping[str, int | None]:
    """Return builds by name; None for a name the worker's engine knows, of which no release is known."""
    content = json.loads(resource_path("known_names.json").read_text(encoding="utf-8"))
    builds: dict[str, int | None] = dict.fromkeys(content[kind]["without_build"])
    for build, names in content[kind]["by_build"].items():
        builds |= dict.fromkeys(names, int(build))
    return builds
