"""Engine packs come in here: checked, unpacked beside the others, and in place in one step."""

import hashlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Final

from app.engine.leftovers import OwnedPath, remove_abandoned
from app.engine.llama_server_capabilities import (
    SERVER_NAME,
    read_devices,
    read_version,
    server_executable,
)
from app.engine.pack_archive import (
    BROKEN_ARCHIVE,
    Member,
    check_targets,
    folder_members,
    refuse,
    server_members,
    zip_members,
)
from app.engine.packs import (
    PARTIAL_PREFIX,
    RECORD_NAME,
    EngineEntry,
    PackRecord,
    check_name,
    free_name,
    write_record,
)
from app.engine.spec import BackendKind, EngineSpec
from app.files import PathKind, open_regular, path_kind, storage_finding
from app.findings import Finding, FindingCode, FindingError, error
from app.paths import engines_folder

_COPY_BYTES: Final = 1024**2


def add_pack(source: Path, name: str | None = None) -> EngineEntry:
    """Install an engine pack and return it, its self-test still to come.

    The other packs are never touched: the new one appears complete, or not at all.

    Args:
        source: A folder, a `.zip` or a `.whl` that holds a llama-server somewhere.
        name: None makes one from the source's name.

    Raises:
        FindingError: `PATH_MISSING`; `NOT_A_FILE`; `PACK_INVALID`; `PACK_WITHOUT_SERVER`;
            `PACK_NAME_INVALID`; `PACK_NAME_TAKEN`; `DISK_FULL`; or why its executable does not start here.
    """
    kind = path_kind(source)
    if kind is None:
        raise FindingError(error(FindingCode.PATH_MISSING, path=str(source)))
    if kind is PathKind.OTHER:
        raise FindingError(error(FindingCode.NOT_A_FILE, path=str(source), kind=kind.value))
    source = source.absolute()
    final_name = free_name(source.name) if name is None else check_name(name)
    owned = _owned_folder()
    partial = owned.path
    try:
        partial.mkdir(mode=0o700)
        files = _fill(source, partial)
        record = _described(source, partial, files)
        write_record(partial, record)
        folder = engines_folder() / final_name
        partial.chmod(0o755)
        partial.rename(folder)
    except OSError as reason:
        raise FindingError(storage_finding(reason, partial)) from reason
    finally:
        owned.release()
    return EngineEntry(EngineSpec(final_name, BackendKind.LLAMA_SERVER, folder), record)


def verify_pack(entry: EngineEntry) -> tuple[Finding, ...]:
    """Return `PACK_HASH_MISMATCH` for every file that is not what was installed, or is gone."""
    folder, record = entry.spec.pack_folder, entry.record
    if folder is None or record is None:
        return ()
    return tuple(
        error(FindingCode.PACK_HASH_MISMATCH, name=entry.name, file=path)
        for path, digest in record.files.items()
        if _digest_or_none(folder / path) != digest
    )


def _fill(source: Path, partial: Path) -> dict[str, str]:
    try:
        with _members(source) as members:
            kept = [pair for pair in server_members(members, SERVER_NAME) if not _is_record(pair[0])]
            if not kept:
                values = {"path": str(source), "server": SERVER_NAME}
                raise FindingError(error(FindingCode.PACK_WITHOUT_SERVER, **values))
            check_targets(source, [path for path, _ in kept])
            return {str(path): _copy(source, member, partial, path) for path, member in kept}
    except BROKEN_ARCHIVE as reason:
        raise refuse(source, "damaged", str(reason)) from reason
    except PermissionError as reason:
        denied = reason.filename if reason.filename is not None else source
        raise FindingError(error(FindingCode.ACCESS_DENIED, path=str(denied))) from reason


def _is_record(path: PurePosixPath) -> bool:
    # the source was a pack already: what we write there is no part of what came
    return str(path).casefold() == RECORD_NAME


@contextmanager
def _members(source: Path) -> Iterator[tuple[Member, ...]]:
    if source.is_dir():
        yield folder_members(source)
        return
    with zipfile.ZipFile(source) as archive:
        yield zip_members(source, archive)


def _copy(source: Path, member: Member, partial: Path, path: PurePosixPath) -> str:
    """Copy one file and return its SHA-256; a zip entry longer than it says is refused."""
    target = partial.joinpath(*path.parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size_bytes = hashlib.sha256(), 0
    with member.open() as reader, target.open("xb") as writer:
        while chunk := reader.read(_COPY_BYTES):
            size_bytes += len(chunk)
            if size_bytes > member.size_bytes:
                raise refuse(source, "damaged", str(member.path))
            digest.update(chunk)
            writer.write(chunk)
    target.chmod(0o755 if member.should_be_executable else 0o644)
    return digest.hexdigest()


def _described(source: Path, partial: Path, files: dict[str, str]) -> PackRecord:
    executable = server_executable(partial)
    build = read_version(executable)
    devices = tuple(device.name for device in read_devices(executable))
    added = datetime.now(UTC).isoformat(timespec="seconds")
    return PackRecord(source.name, added, build, devices, files)


def _digest_or_none(file: Path) -> str | None:
    try:
        with open_regular(file) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, FindingError):
        return None


def _owned_folder() -> OwnedPath:
    """Return a folder for a pack that is being made; those of adds that were killed are removed first."""
    folder = engines_folder()
    try:
        remove_abandoned(folder, PARTIAL_PREFIX)
        return OwnedPath(folder, PARTIAL_PREFIX)
    except OSError as reason:
        raise FindingError(storage_finding(reason, folder)) from reason
