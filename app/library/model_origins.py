"""Whose folder a model lies in, and where programs keep theirs."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from app.files import read_regular
from app.findings import FindingError
from app.paths import data_folder, models_folder

OLLAMA_BLOB: Final = re.compile(r"sha256[-:]([0-9a-f]{64})")
_MANIFEST_BYTES_MAX: Final = 256 * 1024
_MANIFESTS_MAX: Final = 4096
_MODEL_LAYER: Final = "application/vnd.ollama.image.model"
_USUAL_NAMESPACE: Final = ("registry.ollama.ai", "library")


class ModelOrigin(StrEnum):
    """The program whose folder it is."""

    MOXIE = "moxie"
    LM_STUDIO = "lm-studio"
    OLLAMA = "ollama"
    HUGGING_FACE = "hugging-face"
    JAN = "jan"
    GPT4ALL = "gpt4all"
    LLAMA_CPP = "llama.cpp"
    OTHER = "other"


_FOLDER_NAMES: Final = {
    ".ollama": ModelOrigin.OLLAMA,
    ".lmstudio": ModelOrigin.LM_STUDIO,
    "lm-studio": ModelOrigin.LM_STUDIO,
    "huggingface": ModelOrigin.HUGGING_FACE,
    "jan": ModelOrigin.JAN,
    "gpt4all": ModelOrigin.GPT4ALL,
    "nomic.ai": ModelOrigin.GPT4ALL,
    "llama.cpp": ModelOrigin.LLAMA_CPP,
}
"""Names of folders, in lower case, that tell whose the models below are."""


def origin_of(path: Path) -> ModelOrigin:
    """Return whose folder `path` lies in, from its name alone."""
    if path.is_relative_to(data_folder()):
        return ModelOrigin.MOXIE
    if OLLAMA_BLOB.fullmatch(path.name):
        return ModelOrigin.OLLAMA
    folders = [part.lower() for part in path.parts[:-1]]
    if "snapshots" in folders and any(folder.startswith("models--") for folder in folders):
        return ModelOrigin.HUGGING_FACE
    return next((_FOLDER_NAMES[f] for f in reversed(folders) if f in _FOLDER_NAMES), ModelOrigin.OTHER)


def program_folders(
    environment: Mapping[str, str] | None = None, home: Path | None = None
) -> tuple[Path, ...]:
    """Return the folders that are there in which programs keep models, Moxie's own first.

    Args:
        environment: Of the process unless given; `OLLAMA_MODELS`, `HF_HUB_CACHE` and `HF_HOME` move folders.
    """
    environment = os.environ if environment is None else environment
    home = Path.home() if home is None else home
    found = [models_folder(), *_moved(environment), *_usual(environment, home)]
    return tuple(dict.fromkeys(folder for folder in found if _is_folder(folder)))


def ollama_names(folder: Path) -> dict[str, str]:
    """Return what Ollama calls its blobs, by their hash; the manifests lie beside the folder `blobs`.

    Empty when there are none. What cannot be read is left out: names are a comfort.
    """
    names: dict[str, str] = {}
    for count, manifest in enumerate(_files_below(folder / "manifests")):
        if count >= _MANIFESTS_MAX:
            break
        name = _ollama_name(manifest.relative_to(folder / "manifests").parts)
        for digest in _model_digests(manifest):
            names.setdefault(digest, name)
    return names


def _moved(environment: Mapping[str, str]) -> Iterator[Path]:
    for name, rest in (("OLLAMA_MODELS", ""), ("HF_HUB_CACHE", ""), ("HF_HOME", "hub"), ("LLAMA_CACHE", "")):
        if environment.get(name):
            yield Path(environment[name], rest).absolute()


def _usual(environment: Mapping[str, str], home: Path) -> Iterator[Path]:
    yield home / ".lmstudio" / "models"
    yield home / ".cache" / "lm-studio" / "models"
    yield home / ".ollama" / "models"
    yield Path("/usr/share/ollama/.ollama/models")
    yield home / ".cache" / "huggingface" / "hub"
    yield home / ".cache" / "llama.cpp"
    yield home / ".local" / "share" / "Jan" / "data" / "llamacpp" / "models"
    yield home / ".local" / "share" / "nomic.ai" / "GPT4All"
    if "APPDATA" in environment:
        yield Path(environment["APPDATA"], "Jan", "data", "llamacpp", "models")
    if "LOCALAPPDATA" in environment:
        yield Path(environment["LOCALAPPDATA"], "nomic.ai", "GPT4All")
        yield Path(environment["LOCALAPPDATA"], "llama.cpp")


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _files_below(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)


def _ollama_name(parts: tuple[str, ...]) -> str:
    """Return `llama3:8b` for `registry.ollama.ai/library/llama3/8b`, and the whole of any other."""
    *above, tag = parts
    if tuple(above[:2]) == _USUAL_NAMESPACE:
        above = above[2:]
    return f"{'/'.join(above)}:{tag}"


def _model_digests(manifest: Path) -> Iterator[str]:
    try:
        data: Any = json.loads(read_regular(manifest, _MANIFEST_BYTES_MAX))
        layers = [layer for layer in data["layers"] if layer["mediaType"] == _MODEL_LAYER]
        digests = [OLLAMA_BLOB.fullmatch(layer["digest"]) for layer in layers]
    except (FindingError, ValueError, LookupError, TypeError, RecursionError):
        return
    yield from (found[1] for found in digests if found)
