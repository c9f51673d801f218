"""Whether windows can be seen through."""

import os
import shutil
import subprocess
import sys

import pytest
from PySide6.QtWidgets import QApplication

from app.paths import source_root
from app.ui.compositing import has_compositing

ASK = """
from PySide6.QtGui import QGuiApplication
from app.ui.compositing import has_compositing
application = QGuiApplication([])
print(QGuiApplication.platformName(), has_compositing())
"""


def test_a_system_that_is_not_x_composes(qapp: QApplication) -> None:
    assert qapp.platformName() == "offscreen"
    assert has_compositing()


@pytest.mark.skipif(shutil.which("xvfb-run") is None, reason="needs an X server")
def test_a_bare_x_server_does_not() -> None:
    environment = {**os.environ, "QT_QPA_PLATFORM": "xcb"}
    command = ["xvfb-run", "-a", sys.executable, "-c", ASK]
    done = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        cwd=source_root(),
        env=environment,
        timeout=60,
        check=False,
    )
    if "Could not load the Qt platform plugin" in done.stderr:
        pytest.skip("Qt lacks libraries of X here")
    assert done.stdout.split() == ["xcb", "False"]
