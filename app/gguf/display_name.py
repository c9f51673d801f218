"""What to call a model wherever it is shown: the name it gives itself where that says something."""

import re
from pathlib import Path
from typing import Final

from app.gguf.shards import part_name

_LONGEST: Final = 200
_SAYS_NOTHING: Final = re.compile(
    r"""
    (ggml|gguf|merged?|model|models|output|out|checkpoint|ckpt|tmp|temp|test|snapshot|main|latest)
        ([-_. ]?\d+)?   # what converters take from the name of a folder
    | hf | huggingface | unknown | untitled | none | null | n/a
    | llama([ ]v2)? # older converters wrote it into all their files
    | [0-9a-f]{7,}  # the hash of a revision
    | \W* | \d*
    """,
    re.IGNORECASE | re.VERBOSE,
)
_QUANTIZATION: Final = re.compile(
    r"[-._ ](UD[-_])?(I?Q\d\w*|TQ\d\w*|MXFP4\w*|NVFP4|BF16|F(P)?(16|32))$", re.IGNORECASE
)


def display_name(name: str | None, title: str) -> str:
    """Return the name to show.

    Args:
        name: `general.name`.
        title: What else the file is called (`file_title`).
    """
    name = " ".join((name or "").split())
    is_path = "/" in name or "\\" in name
    if is_path or len(name) > _LONGEST or not name.isprintable() or _SAYS_NOTHING.fullmatch(name):
        return short_name(title)
    return name


def file_title(path: Path) -> str:
    """Return a file's name without its ending and without the number of a part."""
    part = part_name(path.name)
    return part.stem if part else path.name.removesuffix(path.suffix) if path.suffix else path.name


def short_name(title: str) -> str:
    """Return a file's title without the quantization at its end, which is shown beside it."""
    return _QUANTIZATION.sub("", title) or title
