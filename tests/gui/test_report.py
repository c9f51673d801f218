"""A report holds the figures and no names."""

from pathlib import Path

import pytest

from app.engine.protocol import Hello
from app.findings import FindingCode, error
from app.hardware.facts import HardwareFacts
from app.options import EngineOptions
from app.texts import Texts
from app.ui.model_view import ModelPhase, ModelView
from app.ui.report import model_report
from tests.fakes import FAKE_HOST


def test_a_report_holds_sentence_figures_and_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "zhangwei")
    view = ModelView(
        phase=ModelPhase.FAILED,
        path=Path("/home/zhangwei/models/some.gguf"),
        asked=EngineOptions(n_ctx=4096),
        hello=Hello("echo", "b1", ()),
        failure=error(FindingCode.ENGINE_KILLED, exit_code=-9),
        log_tail=("loading /home/zhangwei/models/some.gguf",),
    )
    warnings = ("2026-01-01 WARNING app.settings: /home/zhangwei/settings.json cannot be read",)
    report = model_report(view, HardwareFacts(FAKE_HOST), Texts("en"), warnings)
    assert "WARNING app.settings" in report
    assert "exit code -9" in report
    assert '"n_ctx": 4096' in report
    assert '"build": "b1"' in report
    assert '"A CPU"' in report
    assert "some.gguf" in report
    assert "zhangwei" not in report


def test_a_report_of_nothing_is_still_one() -> None:
    assert '"phase": "none"' in model_report(ModelView(), None, Texts("zh_CN"))
