"""What a file that is not GGUF is instead, from its first bytes."""

from pathlib import Path
from typing import Final

HEAD_BYTES: Final = 4096

_LARGEST_TABLE: Final = 100 * 1024**2
"""Of a safetensors file, whose length stands in front of it; the format's own limit is 100 MB."""

_MAGICS: Final = (
    (b"version https://git-lfs", "git-lfs-pointer"),
    (b"PK\x03\x04", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!", "rar"),
    (b"(\xb5/\xfd", "zstd"),
    (b"%PDF", "pdf"),
    (b"MZ", "windows-program"),
    (b"\x7fELF", "linux-program"),
    *((bytes((0x80, protocol)), "pickle") for protocol in range(2, 6)),
    (b"\x89HDF", "hdf5"),
    (b"FUGG", "big-endian-gguf"),
    (b"GGML", "ggml-before-gguf"),
    (b"lmgg", "ggml-before-gguf"),
    (b"fmgg", "ggml-before-gguf"),
    (b"tjgg", "ggml-before-gguf"),
    (b"algg", "lora-before-gguf"),
)


def looks_like(path: Path) -> str | None:
    """Return a stable word for what the file holds; None when its first bytes tell nothing.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    for magic, word in _MAGICS:
        if head.startswith(magic):
            return word
    if not head.strip(b"\0"):
        return "zeros"  # a download reserves its space first
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= _LARGEST_TABLE:
        return "safetensors"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].lower()
    if start.startswith((b"<!doc", b"<html", b"<head", b"<?xml", b"<script")):
        return "html"
    if start.startswith((b"{", b"[")):
        return "json"
    return "text" if _is_text(head) else None


def _is_text(head: bytes) -> bool:
    try:
        text = head[:-4].decode("utf-8") if len(head) == HEAD_BYTES else head.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return all(char.isprintable() or char in "\t\r\n" for char in text)
