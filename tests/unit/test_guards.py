"""The rules of the house that a machine can check."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "app").rglob("*.py"))
MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

IMPORT_ALL = """
import importlib, pkgutil, sys
for name in ("PySide6", "pyqtgraph", "llama_cpp"):
    sys.modules[name] = None
import app
names = [m.name for m in pkgutil.walk_packages(app.__path__, "app.")
         if not m.name.startswith(("app.ui", "app.engine.llama.")) and m.name != "app.__main__"]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def test_the_core_imports_without_qt_charts_and_engine() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30


def test_only_the_worker_package_names_llama_cpp() -> None:
    outside = [m for m in MODULES if ROOT / "app" / "engine" / "llama" not in m.parents]
    guilty = [m.name for m in outside if "llama_cpp" in _imported_roots(m)]
    assert guilty == []


def test_only_the_window_names_qt_and_only_its_charts_pyqtgraph() -> None:
    ui, charts = ROOT / "app" / "ui", ROOT / "app" / "ui" / "charts"
    with_qt = [m.name for m in MODULES if ui not in m.parents and "PySide6" in _imported_roots(m)]
    with_charts = [m.name for m in MODULES if charts not in m.parents and "pyqtgraph" in _imported_roots(m)]
    assert (with_qt, with_charts) == ([], [])


def test_colours_are_written_only_in_the_tokens_and_style_sheets_only_in_the_theme() -> None:
    theme = ROOT / "app" / "ui" / "theme"
    outside = [m for m in (ROOT / "app" / "ui").rglob("*.py") if theme not in m.parents]
    with_colour = [m.name for m in outside if re.search(r"#[0-9A-Fa-f]{6}\b", m.read_text("utf-8"))]
    with_sheet = [m.name for m in outside if "setStyleSheet" in m.read_text("utf-8")]
    assert (with_colour, with_sheet) == ([], [])


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.relative_to(ROOT).as_posix())
def test_a_module_can_be_read_in_one_sitting(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MODULE_LINES_MAX
    long_functions = [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and _lines(node) > FUNCTION_LINES_MAX
    ]
    assert long_functions == []


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.relative_to(ROOT).as_posix())
def test_every_public_name_says_what_its_signature_cannot(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "module docstring"
    silent = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert silent == []


def _imported_roots(module: Path) -> set[str]:
    roots: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            roots.update(alias.name.split(".")[0] for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            roots.add(node.module.split(".")[0])
    return roots


def _lines(node: ast.FunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1
