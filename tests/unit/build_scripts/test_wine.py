"""What the set-up of Wine and the Windows Python decides: versions, signatures, pins, names, mirrors."""

from pathlib import Path

import pytest

from build_scripts import verify_windows, windows_python, wine
from build_scripts.steps import ROOT, SetupError
from build_scripts.windows_python import PACKAGES, exported_names, is_signed, locked

LOCK = """# made by a tool
alpha==1.2 \\
    --hash=sha256:aa \\
    --hash=sha256:ab
alpha-beta==3 \\
    --hash=sha256:bb
gamma==4 ; python_full_version < '3.12' \\
    --hash=sha256:cc
gamma==5 ; python_full_version >= '3.12' \\
    --hash=sha256:cd
"""

LISTING = """
Export Address Table -- Ordinal Base 1
\t[   0] +base[   1] 1234 Export RVA

[Ordinal/Name Pointer] Table -- Ordinal Base 1
\t[   0] +base[   1]  0000 PyAIter_Check
\t[   1] +base[   2]  0001 _Py_NoneStruct
\t[   2] ?mangled@@YAXXZ
\t[   3] Py_Main

The Import Tables
\t[   4] NotExported
"""


@pytest.mark.parametrize(
    ("output", "version", "is_new"),
    [
        ("wine-10.0 (Debian 10.0~repack-6)\n", "10.0", True),
        ("wine-11.2\n", "11.2", True),
        ("wine-8.0 (Debian 8.0~repack-4)\n", "8.0", False),
        ("it looks like wine32 is missing\nwine-9.0\n", "9.0", False),
        ("sh: wine: not found\n", None, False),
        ("", None, False),
    ],
)
def test_a_wine_is_new_enough_from_10_on(output: str, version: str | None, is_new: bool) -> None:
    assert wine.parse_version(output) == version
    assert wine.is_wanted(version) is is_new


def test_a_path_is_below_z_for_windows_programs() -> None:
    assert wine.windows_path(Path("/work/我的 文件/a.py")) == "Z:\\work\\我的 文件\\a.py"


def test_the_mirror_is_the_one_this_system_uses() -> None:
    targets = "https://one.example/debian-security main\nhttps://two.example/debian/ contrib\n"
    assert wine.mirror_of(targets) == wine.USUAL_MIRROR
    assert wine.mirror_of(targets + "https://two.example/debian/ main\n") == "https://two.example/debian"


def test_a_system_of_its_own_is_entered_in_namespaces_that_end_with_the_command() -> None:
    command = wine.entering(Path("/root of it"), ["wine", "--version"])
    assert command[: len(wine.UNSHARE)] == list(wine.UNSHARE)
    assert {"--mount", "--pid", "--kill-child"} <= set(wine.UNSHARE)
    assert command[-4:] == ["/root of it", str(ROOT), "wine", "--version"]


@pytest.mark.parametrize(
    ("report", "status", "is_good"),
    [
        ("Subject: /O=Python Software Foundation/CN=x\nSucceeded\n", 0, True),
        ("Subject: /O=Python Software Foundation/CN=x\nSucceeded\n", 1, False),
        ("Subject: /O=Python Software Foundation/CN=x\nFailed\n", 0, False),
        ("Subject: /O=Somebody Else/CN=x\nSucceeded\n", 0, False),
        ("No signature found\n", 1, False),
    ],
)
def test_only_a_valid_signature_of_pythons_makers_counts(report: str, status: int, is_good: bool) -> None:
    assert is_signed(report, status) is is_good


def test_a_lock_is_cut_down_to_the_packages_wanted_with_all_their_hashes() -> None:
    assert locked(LOCK, ["alpha"]) == "alpha==1.2 \\\n    --hash=sha256:aa \\\n    --hash=sha256:ab\n"
    assert locked(LOCK, ["gamma"]).count("gamma==") == 2
    assert "alpha==" not in locked(LOCK, ["alpha-beta"])


def test_a_package_without_a_lock_is_refused() -> None:
    with pytest.raises(SetupError, match="delta"):
        locked(LOCK, ["alpha", "delta"])


def test_every_package_of_the_windows_python_is_locked() -> None:
    entries = locked(windows_python.LOCK.read_text(encoding="utf-8"), PACKAGES)
    assert entries.count("==") >= len(PACKAGES)
    assert entries.count("--hash=sha256:") > len(PACKAGES)


def test_exported_names_are_those_of_c_and_of_the_export_table_only() -> None:
    assert exported_names(LISTING) == ("PyAIter_Check", "_Py_NoneStruct", "Py_Main")


def test_the_tests_of_the_windows_side_are_there() -> None:
    assert [name for name in verify_windows.TESTS if not (ROOT / name).exists()] == []
