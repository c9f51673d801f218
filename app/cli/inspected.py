"""The PATH argument of the subcommands: a model file, any part of a split one, or a folder with one model."""

from pathlib import Path

from app.cli.context import UsageError
from app.findings import FindingCode
from app.gguf.inspect_file import InspectedFile
from app.library.repair_memory import inspect_remembered
from app.texts import Texts

_NOTHING_TO_OPEN = (FindingCode.PATH_MISSING, FindingCode.FOLDER_AMBIGUOUS)


def inspect_argument(path: str, texts: Texts) -> InspectedFile:
    """Return what is at `path`.

    Raises:
        UsageError: nothing is there, or a folder without exactly one model; its models are listed.
    """
    inspected = inspect_remembered(Path(path))
    for finding in inspected.findings:
        if finding.code in _NOTHING_TO_OPEN:
            raise UsageError(texts.finding(finding).message)
    return inspected
