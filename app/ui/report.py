"""A failure of a model as text to send to somebody: figures and log, no names of persons. No Qt."""

import json
import platform
from typing import Any

from app import __version__
from app.findings import Finding
from app.hardware.facts import HardwareFacts
from app.hardware.pseudonyms import text_without_personal_names, without_personal_names
from app.hardware.recording import Recording, to_text
from app.texts import Texts
from app.ui.model_view import ModelView


def model_report(
    view: ModelView, hardware: HardwareFacts | None, texts: Texts, warnings: tuple[str, ...] = ()
) -> str:
    """Return what is known of the model, its load and this machine.

    Args:
        warnings: Lines of the program's own log.
    """
    findings = [view.failure] if view.failure else []
    findings += [finding for finding in view.findings if finding not in findings]
    words = "\n".join(texts.finding_line(finding) for finding in findings)
    data = json.dumps(_data(view, findings, hardware), ensure_ascii=False, indent=2)
    parts = (words, data, "\n".join(view.log_tail), "\n".join(warnings))
    return text_without_personal_names("\n\n".join(part for part in parts if part))


def _data(view: ModelView, findings: list[Finding], hardware: HardwareFacts | None) -> dict[str, Any]:
    facts, loaded = view.facts, view.loaded
    return {
        "moxie": __version__,
        "system": f"{platform.system()} {platform.release()}",
        "phase": view.phase.value,
        "model": None if view.path is None else view.path.name,
        "architecture": None if facts is None else facts.architecture,
        "engine": view.engine_name,
        "build": None if view.hello is None else view.hello.build,
        "asked": None if view.asked is None else view.asked.to_json(),
        "applied": None if loaded is None else loaded.applied,
        "findings": [finding.to_json() for finding in findings],
        "machine": None if hardware is None else _machine(hardware),
    }


def _machine(hardware: HardwareFacts) -> object:
    return json.loads(to_text(Recording(without_personal_names(hardware))))
