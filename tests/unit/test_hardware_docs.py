"""`docs/hardware.md` says of every verdict on the machine what it means, in both languages."""

import re
from pathlib import Path

import pytest

from app.findings import FindingCode

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("hardware.md", "hardware.zh_CN.md")
CODES = list(FindingCode)
OF_THE_MACHINE = {
    code.value
    for code in CODES[
        CODES.index(FindingCode.NVIDIA_DRIVER_MISSING) : CODES.index(FindingCode.RECORDING_INVALID) + 1
    ]
}


@pytest.mark.parametrize("page", PAGES)
def test_every_verdict_has_its_row_and_no_row_is_without_one(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+ \| `([a-z0-9-]+)` \| [^|]+ \|$", text, re.MULTILINE)
    assert sorted(rows) == sorted(OF_THE_MACHINE)
