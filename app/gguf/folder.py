"""The models of one folder, a split model once."""

from pathlib import Path

from app.gguf.facts import FileKind
from app.gguf.kind import file_kind
from app.gguf.metadata import Metadata
from app.gguf.reader import GgufError, read_header
from app.gguf.shards import part_name

_BESIDE_A_MODEL = frozenset(
    {FileKind.PROJECTOR, FileKind.ADAPTER, FileKind.DRAFT, FileKind.IMATRIX, FileKind.VOCAB}
)


def models_in(folder: Path) -> tuple[Path, ...]:
    """Return the models directly in `folder` by name; of a split one its lowest part that is there.

    Projectors, adapters and the like lie beside a model and are none; a file that cannot be read may be one.

    Raises:
        OSError: the folder cannot be listed.
    """
    files = [file for file in folder.iterdir() if file.suffix.lower() == ".gguf" and file.is_file()]
    firsts: dict[str, Path] = {}
    for file in sorted(files, key=lambda file: file.name):
        part = part_name(file.name)
        firsts.setdefault(part.name_of(1) if part else file.name, file)
    return tuple(file for file in firsts.values() if not _lies_beside(file))


def _lies_beside(file: Path) -> bool:
    try:
        header = read_header(file)
    except GgufError:
        return False
    return file_kind(Metadata(header.keys), header.tensors) in _BESIDE_A_MODEL
