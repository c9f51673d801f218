"""What is offered as an engine pack, as a list of plain files: a folder, a zip or a wheel. Foreign bytes."""

import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

from app.findings import FindingCode, FindingError, error

ENTRIES_LIMIT: Final = 20_000
SIZE_LIMIT_BYTES: Final = 8 * 1024**3
"""A CUDA pack with its libraries has about 1 GB."""

LONGEST_NAME_BYTES: Final = 240
"""File systems take 255 of one name."""

LONGEST_PATH_CHARACTERS: Final = 1000

_UNSAFE_CHARACTERS: Final = re.compile(r'[\\:*?"<>|\x00-\x1f]')
_LICENCE: Final = re.compile(r"licen[cs]e|copying|notice|copyright|terms", re.IGNORECASE)
_LIBRARY_FOLDERS: Final = ("lib", "lib64")
_EXECUTABLE: Final = re.compile(r"(llama|ggml|rpc)[\w-]*")

BROKEN_ARCHIVE: Final = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, UnicodeError,
)  # fmt: skip
"""Whatever `zipfile` raises at a damaged, encrypted or exotic archive."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a source.

    Attributes:
        path: Relative, checked: no `..`, no drive, nothing Windows cannot store.
        open: Opens it for reading.
    """

    path: PurePosixPath
    size_bytes: int
    open: Callable[[], IO[bytes]]
    is_executable: bool = False

    @property
    def is_licence(self) -> bool:
        """True for a licence text or something that lies in a folder of them."""
        return any(_LICENCE.search(part) for part in self.path.parts[-2:])

    @property
    def should_be_executable(self) -> bool:
        """True when the system must be able to start it; zips often lose the bit."""
        return self.is_executable or _EXECUTABLE.fullmatch(self.path.name) is not None


def refuse(source: Path, reason: str, detail: str | None = None) -> FindingError:
    """Return the error for a source that cannot become a pack.

    Args:
        reason: Stable word, for programs: `unsafe-entry`, `damaged`, `too-big`, ...
        detail: The entry or the library's own words.
    """
    return FindingError(
        error(FindingCode.PACK_INVALID, path=str(source), reason=reason, detail=detail or reason)
    )


def folder_members(source: Path) -> tuple[Member, ...]:
    """Return the files of a folder; links count as the files they lead to.

    Raises:
        FindingError: `PACK_INVALID`: a link leaves the folder, a device or pipe, too much.
    """
    members: list[Member] = []
    for folder, folders, names in os.walk(source):
        folders.sort()
        for name in sorted(names):
            members.append(_folder_member(source, Path(folder, name)))
            if len(members) > ENTRIES_LIMIT:
                raise refuse(source, "too-many-files", str(ENTRIES_LIMIT))
        for name in folders:
            if Path(folder, name).is_symlink():
                raise refuse(source, "unsafe-entry", name)
    return _limited(source, members)


def zip_members(source: Path, archive: zipfile.ZipFile) -> tuple[Member, ...]:
    """Return the files of a zip or wheel.

    Raises:
        FindingError: `PACK_INVALID`: absolute or `..` path, drive letter, link, twice the same name,
            encrypted, too much.
    """
    infos = archive.infolist()
    if len(infos) > ENTRIES_LIMIT:
        raise refuse(source, "too-many-files", str(len(infos)))
    files = [info for info in infos if not info.filename.endswith("/")]  # `is_dir` of 3.11 needs a name
    members = [_zip_member(source, archive, info) for info in files]
    check_targets(source, [member.path for member in members])
    return _limited(source, members)


def check_targets(source: Path, paths: Sequence[PurePosixPath]) -> None:
    """Check that every path can be a file beside all others, on systems that ignore case, too.

    Raises:
        FindingError: `PACK_INVALID`: the same file twice, or a file that is another one's folder.
    """
    files: set[str] = set()
    for path in paths:
        name = str(path).casefold()
        if name in files:
            raise refuse(source, "duplicate-entry", str(path))
        files.add(name)
    for path in paths:
        if any(str(parent).casefold() in files for parent in path.parents):
            raise refuse(source, "duplicate-entry", str(path))


def server_members(members: Sequence[Member], server_name: str) -> Iterator[tuple[PurePosixPath, Member]]:
    """Yield what a pack keeps, with its path in the pack: the server's folder, and licences from elsewhere.

    The shallowest server counts. A `bin` brings the `lib` beside it along, where its libraries are.
    Yields nothing when there is no server.
    """
    servers = [member.path for member in members if member.path.name == server_name]
    if not servers:
        return
    folder = min(servers, key=lambda path: (len(path.parts), str(path))).parent
    libraries = [folder.with_name(name) for name in _LIBRARY_FOLDERS] if folder.name == "bin" else []
    has_libraries = any(member.path.is_relative_to(lib) for member in members for lib in libraries)
    root = folder.parent if has_libraries else folder
    for member in members:
        if any(member.path.is_relative_to(kept) for kept in (folder, *libraries)):
            yield member.path.relative_to(root), member
        elif member.is_licence:
            yield PurePosixPath("licenses", _short("-".join(member.path.parts))), member


def _short(name: str) -> str:
    """Return the end of a name that would be too long for a file."""
    while _name_bytes(name) > LONGEST_NAME_BYTES:
        name = name[1:]
    return name


def _name_bytes(name: str) -> int:
    return len(name.encode("utf-8", "surrogatepass"))


def _folder_member(source: Path, file: Path) -> Member:
    relative = PurePosixPath(*file.relative_to(source).parts)
    try:
        target = file.resolve(strict=True)
        status = target.stat()
    except OSError as reason:
        raise refuse(source, "unreadable", str(relative)) from reason
    if not stat.S_ISREG(status.st_mode) or not target.is_relative_to(source.resolve()):
        raise refuse(source, "unsafe-entry", str(relative))
    return Member(
        _checked(source, str(relative)),
        status.st_size,
        lambda: target.open("rb"),
        is_executable=bool(status.st_mode & 0o111) and os.name == "posix",
    )


def _zip_member(source: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise refuse(source, "unsafe-entry", info.filename)
    if info.flag_bits & 0x1:
        raise refuse(source, "encrypted", info.filename)
    return Member(
        _checked(source, info.orig_filename),
        info.file_size,
        lambda: archive.open(info),
        is_executable=bool(mode & 0o111),
    )


def _checked(source: Path, name: str) -> PurePosixPath:
    parts = name.split("/")
    if any(not part or part in (".", "..") or part[-1] in ". " for part in parts):
        raise refuse(source, "unsafe-entry", name)
    is_long = any(_name_bytes(part) > LONGEST_NAME_BYTES for part in parts)
    if is_long or len(name) > LONGEST_PATH_CHARACTERS:
        raise refuse(source, "name-too-long", name)
    if _UNSAFE_CHARACTERS.search(name):
        raise refuse(source, "unsafe-entry", name)
    return PurePosixPath(*parts)


def _limited(source: Path, members: Sequence[Member]) -> tuple[Member, ...]:
    size_bytes = sum(member.size_bytes for member in members)
    if size_bytes > SIZE_LIMIT_BYTES:
        raise refuse(source, "too-big", str(size_bytes))
    return tuple(members)
