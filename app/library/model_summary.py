"""One model as a row of a list: what is worth comparing, without its tensor table."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from app.findings import FindingCode, Severity
from app.gguf.anatomy import anatomy_of
from app.gguf.display_name import file_title
from app.gguf.facts import FileKind
from app.gguf.inspect_file import InspectedFile
from app.library.model_origins import ModelOrigin, origin_of

_GRAVEST_FIRST = tuple(Severity)


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """One model. `None` = the file gives no value.

    Attributes:
        path: The first part: what `inspect_path` and the engine take.
        files: All parts in order.
        title: What to call it: the name it has in its own program, else its file name without ending.
        name: `general.name`.
        origin: Whose folder it lies in.
        quantization: As people call it (`ModelFacts.quantization_name`).
        size_bytes: All parts, as they lie on disk.
        expert_layer_count: Blocks with routed experts; 0 for a dense model.
        routed_expert_bytes: Of all of them.
        active_parameter_count: Weights that take part in one token; bytes_per_token: the bytes of those
            (`gguf/anatomy.py`).
        loadable: The header's verdict.
        severity: Of the gravest finding; None without any.
        codes: Of all findings, the gravest first, each once.
        modified_ns: When the newest part was changed, nanoseconds since 1970.
    """

    path: Path
    files: tuple[Path, ...]
    title: str
    name: str | None
    origin: ModelOrigin
    kind: FileKind
    architecture: str | None
    quantization: str | None
    size_bytes: int
    parameter_count: int | None
    active_parameter_count: int | None
    bytes_per_token: int | None
    block_count: int | None
    mtp_layers: int
    expert_layer_count: int
    expert_count: int
    expert_used_count: int | None
    expert_shared_count: int | None
    routed_expert_bytes: int
    context_length: int | None
    has_chat_template: bool
    loadable: bool
    severity: Severity | None
    codes: tuple[FindingCode, ...]
    modified_ns: int | None

    @property
    def is_moe(self) -> bool:
        """True when the file has routed experts."""
        return self.expert_count > 0

    @classmethod
    def from_inspected(cls, inspected: InspectedFile, modified_ns: int | None = None) -> "ModelSummary":
        """Return the row of a file that was inspected.

        Args:
            modified_ns: Of the newest part; the facts do not carry it.
        """
        facts, anatomy = inspected.facts, anatomy_of(inspected.facts)
        findings = sorted(inspected.findings, key=lambda finding: _GRAVEST_FIRST.index(finding.severity))
        return cls(
            path=facts.path,
            files=facts.files,
            title=file_title(facts.path),
            name=facts.name,
            origin=origin_of(facts.path),
            kind=facts.kind,
            architecture=facts.architecture,
            quantization=facts.quantization_name,
            size_bytes=facts.size_bytes,
            parameter_count=facts.parameter_count,
            active_parameter_count=anatomy.active_parameter_count,
            bytes_per_token=anatomy.bytes_per_token,
            block_count=facts.block_count,
            mtp_layers=facts.mtp_layers,
            expert_layer_count=len(facts.expert_layers),
            expert_count=facts.expert_count,
            expert_used_count=facts.expert_used_count,
            expert_shared_count=facts.expert_shared_count,
            routed_expert_bytes=facts.routed_expert_bytes,
            context_length=facts.context_length,
            has_chat_template=facts.has_chat_template,
            loadable=inspected.loadable,
            severity=findings[0].severity if findings else None,
            codes=tuple(dict.fromkeys(finding.code for finding in findings)),
            modified_ns=modified_ns,
        )

    def renamed(self, title: str) -> "ModelSummary":
        """Return it under the name it has in its own program."""
        return replace(self, title=title)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data; `from_json` reads it back."""
        return asdict(self) | {"path": str(self.path), "files": [str(file) for file in self.files]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ModelSummary":
        """Read back what `to_json` made.

        Raises:
            KeyError, TypeError, ValueError: not such an object.
        """
        severity = data["severity"]
        read = {
            "path": Path(data["path"]),
            "files": tuple(Path(file) for file in data["files"]),
            "origin": ModelOrigin(data["origin"]),
            "kind": FileKind(data["kind"]),
            "severity": None if severity is None else Severity(severity),
            "codes": tuple(FindingCode(code) for code in data["codes"]),
        }
        return cls(**{**data, **read})
