"""Whether a file is a download still running, by the names that browsers and download programs use."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from app.findings import Finding, FindingCode, note

_WHILE_IT_RUNS: Final = (
    *(".part", ".partial", ".crdownload", ".opdownload", ".download", ".downloading", ".incomplete"),
    *(".!qb", ".!ut", ".!bt", ".bc!", ".xltd", ".td", ".fdmdownload", ".dltmp"),
)
"""At the end of the name, in any case: browsers, Baidu, Hugging Face, torrents, Thunder and the like."""

_BESIDE_IT: Final = (".aria2", ".part.met", ".st", ".td.cfg", ".xltd.cfg")
"""Of a second file that programs keep beside one whose name is already the final one."""

_TELLING: Final = (FindingCode.FILE_INCOMPLETE, FindingCode.FILE_EMPTY, FindingCode.NOT_GGUF)


def download_findings(path: Path, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Return a note for each file of a model that is incomplete or missing because it is still coming."""
    for finding in findings:
        if finding.code in _TELLING:
            name = finding.values.get("file")
            yield from _notes(path.with_name(str(name)) if name else path)
        elif finding.code is FindingCode.SHARD_MISSING:
            missing = finding.values["missing"]
            for part in missing if isinstance(missing, tuple) else ():
                yield from _notes(path.with_name(str(part)))


def _notes(file: Path) -> Iterator[Finding]:
    if file.name.lower().endswith(_WHILE_IT_RUNS):
        yield note(FindingCode.DOWNLOAD_UNFINISHED, file=file.name)
        return
    for suffix in (*_WHILE_IT_RUNS, *_BESIDE_IT):
        beside = file.with_name(file.name + suffix)
        if _exists(beside):
            yield note(FindingCode.DOWNLOAD_UNFINISHED, file=beside.name)
            return


def _exists(file: Path) -> bool:
    try:
        return file.exists()
    except OSError:
        return False
