"""Which AMD cards a HIP build holds code for, and that a card outside it is told from its files alone."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.build_facts import EngineFiles, build_facts
from app.engine.hip_targets import hip_targets, read_targets
from app.findings import FindingCode
from app.hardware.amd_targets import gfx_target_of
from app.hardware.facts import GpuInfo, HardwareFacts
from app.hardware.verdicts_engine import judge_engine
from tests.unit.engine.test_binary_imports import linux_program

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
HOST = "host-x86_64-unknown-linux-gnu-"


def bundle(*entries: str) -> bytes:
    content = MAGIC + struct.pack("<Q", len(entries))
    for entry in entries:
        content += struct.pack("<3Q", 4096, 1000, len(entry)) + entry.encode()
    return content


def of_hip(*targets: str) -> bytes:
    return bundle(HOST, *(f"hipv4-amdgcn-amd-amdhsa--{target}" for target in targets))


@pytest.mark.parametrize(
    ("content", "targets"),
    [
        (of_hip("gfx1030", "gfx1100"), ("gfx1030", "gfx1100")),
        (b"x" * 5000 + of_hip("gfx1151") + of_hip("gfx900"), ("gfx1151",)),
        (bundle(HOST) + of_hip("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack+"), ("gfx90a",)),
        (bundle(HOST, "hip-amdgcn-amd-amdhsa-unknown-gfx906"), ("gfx906",)),
        (bundle("openmp-amdgcn-amd-amdhsa--gfx906"), ()),
        (b"CCOB" + bytes(64), ()),
        (MAGIC, ()),
        (MAGIC + struct.pack("<4Q", 2**63, 0, 0, 2**63), ()),
        (b"", ()),
    ],
)
def test_the_targets_are_those_the_bundle_names(content: bytes, targets: tuple[str, ...]) -> None:
    assert read_targets(content) == targets


@given(st.lists(st.sampled_from([MAGIC, of_hip("gfx1100"), b"hip-amdgcn-amd-amdhsa--gfx9"]) | st.binary()))
def test_any_bytes_have_targets_or_none(parts: list[bytes]) -> None:
    assert all(target.startswith("gfx") for target in read_targets(b"".join(parts)))


def test_a_file_that_is_not_there_or_empty_names_none(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert hip_targets(tmp_path / "empty") == hip_targets(tmp_path / "no") == hip_targets(tmp_path) == ()


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "libggml-hip.so"
    file.write_bytes(of_hip("gfx1100"))
    assert hip_targets(file) == ("gfx1100",)
    file.write_bytes(of_hip("gfx1030", "gfx1100"))
    assert hip_targets(file) == ("gfx1030", "gfx1100")


def test_an_amd_card_outside_a_hip_pack_is_told_from_the_files_of_the_pack(tmp_path: Path) -> None:
    (tmp_path / "libggml-hip.so").write_bytes(
        linux_program("libamdhip64.so.6") + of_hip("gfx1100", "gfx1101")
    )
    build = build_facts(EngineFiles("a pack", tmp_path), lambda _: True)
    assert (build.flavour, build.gfx_targets) == ("hip", ("gfx1100", "gfx1101"))

    def card(device_id: int) -> HardwareFacts:
        target = gfx_target_of(0x1002, device_id)
        return HardwareFacts(None, None, (GpuInfo(0, "A Radeon", "amd", gfx_target=target),))

    assert judge_engine(card(0x744C), build) == ()
    (finding,) = judge_engine(card(0x73BF), build)
    assert finding.code is FindingCode.GFX_TARGET_MISSING
    assert (finding.values["gfx_target"], finding.values["targets"]) == ("gfx1030", ("gfx1100", "gfx1101"))
    assert judge_engine(card(0xFFFF), build) == ()  # nothing is guessed


@pytest.mark.parametrize(("vendor", "device"), [(0x10DE, 0x744C), (None, None), (0x1002, None)])
def test_only_known_cards_of_amd_have_a_target(vendor: int | None, device: int | None) -> None:
    assert gfx_target_of(vendor, device) is None
