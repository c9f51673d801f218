"""Whether engines know the architecture, and whether the keys are those of the architecture that is named."""

from collections.abc import Iterator
from typing import Final

from app.findings import Finding, FindingCode, error, warning
from app.gguf.facts import FileKind, ModelFacts
from app.gguf.known_names import build_with_architecture, is_known_architecture
from app.gguf.metadata import Metadata

_BLOCKS: Final = ".block_count"


def foreign_prefix(metadata: Metadata) -> str | None:
    """Return the one architecture whose keys are there in place of those of the architecture named."""
    if metadata.architecture is None or metadata.has("block_count"):
        return None
    prefixes = {name.removesuffix(_BLOCKS) for name in metadata.names_ending(_BLOCKS)}
    prefix = prefixes.pop() if len(prefixes) == 1 else None
    has_own = metadata.has_prefix(f"{metadata.architecture}.")
    return None if has_own else prefix


def architecture_findings(facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    """Return the findings on `general.architecture`; a future one is a warning and may be tried."""
    name = facts.architecture
    if name is None:
        yield error(FindingCode.ARCHITECTURE_MISSING, file=facts.path.name)
        return
    prefix = foreign_prefix(metadata)
    if prefix is not None:
        yield error(
            FindingCode.METADATA_PREFIX_MISMATCH, file=facts.path.name, architecture=name, prefix=prefix
        )
    elif facts.kind is FileKind.MODEL and not is_known_architecture(name):
        yield unknown_architecture(name)


def unknown_architecture(name: str) -> Finding:
    """Return the warning about an architecture that the engine asked does not know."""
    build = build_with_architecture(name)
    if build is None:
        return warning(FindingCode.ARCHITECTURE_UNKNOWN, architecture=name)
    return warning(FindingCode.ARCHITECTURE_TOO_NEW, architecture=name, build=build)
