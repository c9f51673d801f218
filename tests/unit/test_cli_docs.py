"""`docs/cli.md` names everything a program may meet in our JSON."""

import re
from pathlib import Path

import pytest

from app.cli.main import SUBCOMMANDS
from app.findings import FindingCode
from app.gguf.facts import AttentionKind, FileKind
from app.planner.facts import Part

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "word", [*FileKind, *AttentionKind, *Part, "GPU0", "CPU", *(f"moxie {name}" for name in SUBCOMMANDS)]
)
def test_a_word_of_the_contract_is_documented(word: str) -> None:
    assert word in PAGE


def test_the_table_of_findings_is_complete_and_has_no_ghosts() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", PAGE[PAGE.index("## Findings") :], re.MULTILINE)
    assert sorted(rows) == sorted(code.value for code in FindingCode)
