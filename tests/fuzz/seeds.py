"""Sound and broken headers to begin with, without their data."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.builders import dense_model, gguf_header, moe_model, u32
from tests.fuzz.structure import cut
from tests.fuzz.targets import PART_SEPARATOR
from tests.models.broken import write_broken

SEED_BYTES_MAX: Final = 48 * 1024
TAIL_BYTES: Final = 40

_ARCHITECTURES: Final = ("qwen3moe", "deepseek2", "glm4moe", "llama4", "gpt-oss", "gemma3", "qwen3next")


def headers() -> list[bytes]:
    """Return small headers: sound ones of several architectures, and all the broken files."""
    found = [
        gguf_header(*moe_model(name, layers=2, leading_dense=number % 2, shared=bool(number % 3)))[0]
        for number, name in enumerate(_ARCHITECTURES)
    ]
    found.append(gguf_header(*dense_model())[0])
    found.append(gguf_header(*moe_model("glm4moe", layers=3, nextn_predict_layers=u32(1)))[0])
    with tempfile.TemporaryDirectory(prefix="moxie-fuzz-") as folder:
        write_broken(Path(folder))
        files = sorted(file for file in Path(folder).rglob("*") if file.is_file())
        found += [file.read_bytes()[:SEED_BYTES_MAX] for file in files]
    return list(dict.fromkeys(_without_data(content) for content in found))


def parts() -> list[bytes]:
    """Return the parts of split models, one behind the other."""
    found = []
    for count in (2, 3):
        keys, tensors = moe_model("qwen3moe", layers=2)
        split = []
        for number in range(count):
            of_part = {"split.no": u32(number), "split.count": u32(count)}
            of_part["split.tensors.count"] = u32(len(tensors))
            own_keys = {**keys, **of_part} if number == 0 else of_part
            split.append(gguf_header(own_keys, tensors[number::count])[0])
        found.append(PART_SEPARATOR.join(split))
    return found


def _without_data(content: bytes) -> bytes:
    pieces = cut(content)
    return content if pieces is None else replace(pieces, tail=pieces.tail[:TAIL_BYTES]).joined()
