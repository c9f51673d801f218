"""Recordings: what goes out comes back, and anything else is refused by name."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.findings import FindingCode, FindingError, note, warning
from app.hardware.engine_facts import EngineBuildFacts, EngineDevice
from app.hardware.facts import (
    DriverInfo,
    GpuInfo,
    GpuSample,
    HardwareFacts,
    HostSample,
    Sample,
)
from app.hardware.pseudonyms import PersonalNames
from app.hardware.recording import (
    Recording,
    load_recording,
    parse_recording,
    read_recording,
    save_recording,
    to_text,
)
from tests.fakes import FAKE_HOST, GIB

MACHINES = Path(__file__).resolve().parents[2] / "data" / "machines"
NOBODY = PersonalNames()

FACTS = HardwareFacts(
    FAKE_HOST,
    DriverInfo("551.61", (12, 4)),
    (GpuInfo(0, "显卡 α", "nvidia", "GPU-anon-0123456789abcdef", vram_total_bytes=8 * GIB),),
    (note(FindingCode.GPU_NOT_FOUND), warning(FindingCode.PROBE_FAILED, probe="x", detail=None, n=(1, -2))),
)
SAMPLES = (
    Sample(1.5, HostSample(cpu_percent=12.5), (GpuSample(0, temperature_celsius=60),)),
    Sample(2.5, None),
)


ENGINE = EngineBuildFacts(
    "一 engine",
    "cuda",
    (12, 4),
    compute_capabilities=((8, 6), (8, 9)),
    imports=("cudart64_12.dll",),
    missing_libraries=(),
    devices=(EngineDevice("CUDA0", "显卡 α", 8 * GIB),),
    takes_devices=False,
)


def document() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(to_text(Recording(FACTS, SAMPLES, (), ENGINE, (0,))))
    return parsed


def refusal(changed: object) -> tuple[object, object]:
    """Return (field, expected) of the finding that a changed document gives."""
    with pytest.raises(FindingError) as failure:
        parse_recording(json.dumps(changed).encode(), "m.json")
    finding = failure.value.finding
    assert finding.code is FindingCode.RECORDING_INVALID
    assert finding.values["path"] == "m.json"
    return finding.values["field"], finding.values["expected"]


def test_facts_and_samples_come_back_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "机器 1.json"
    save_recording(Recording(FACTS, SAMPLES), file, names=NOBODY)
    assert read_recording(file) == Recording(FACTS, SAMPLES)
    assert load_recording(file) == FACTS


def test_the_engine_in_use_comes_back_as_it_was_and_what_it_does_not_lack_is_a_statement(
    tmp_path: Path,
) -> None:
    file = tmp_path / "m.json"
    for devices in (ENGINE.devices, (), None):
        recording = Recording(FACTS, engine=replace(ENGINE, devices=devices), excluded_gpus=(0, 2))
        save_recording(recording, file, names=NOBODY)
        assert read_recording(file) == recording
    assert json.loads(file.read_text(encoding="utf-8"))["version"] == 3


def test_an_engine_named_after_a_person_is_recorded_without_the_name(tmp_path: Path) -> None:
    named = replace(
        ENGINE, engine="alice-build", missing_files=("/home/alice/e.dll",), missing_libraries=("alice.so",)
    )
    save_recording(Recording(FACTS, engine=named), tmp_path / "m.json", names=PersonalNames(user=("alice",)))
    assert "alice" not in (tmp_path / "m.json").read_text(encoding="utf-8")


def test_a_machine_whose_host_probe_hung_comes_back_without_a_host(tmp_path: Path) -> None:
    facts = HardwareFacts(None, findings=(warning(FindingCode.PROBE_TIMED_OUT, probe="host", seconds=5.0),))
    save_recording(facts, tmp_path / "m.json", names=NOBODY)
    assert load_recording(tmp_path / "m.json") == facts


def test_a_value_the_source_did_not_give_is_left_out_of_the_file() -> None:
    gpu = document()["facts"]["gpus"][0]
    assert "vram_free_bytes" not in gpu
    assert "compute_capability" not in gpu


def test_a_recording_with_a_byte_order_mark_is_read() -> None:
    content = "\ufeff".encode() + to_text(Recording(FACTS)).encode()
    assert parse_recording(content, "m.json").facts == FACTS


@pytest.mark.parametrize(
    ("name", "gpus", "vram_gib"),
    [
        ("gtx-1660-and-rtx-3090-32gb", 2, 30),
        ("h200", 1, 140),
        ("no-gpu-16gb", 0, 0),
        ("rtx-3060-32gb", 1, 12),
        ("rtx-3090-and-3060-64gb", 2, 36),
        ("rtx-4060-laptop-32gb", 2, 8),
        ("rtx-4090-64gb", 1, 24),
    ],
)
def test_a_machine_kept_for_tests_has_its_cards(name: str, gpus: int, vram_gib: int) -> None:
    facts = load_recording(MACHINES / f"{name}.json")
    assert len(facts.gpus) == gpus
    assert round(sum(gpu.vram_total_bytes or 0 for gpu in facts.gpus) / GIB) == vram_gib


@pytest.mark.parametrize("file", sorted(MACHINES.glob("*.json")), ids=lambda file: file.stem)
def test_the_machines_kept_for_tests_load_and_are_in_the_current_format(file: Path) -> None:
    recording = read_recording(file)
    assert recording.facts.host is not None
    assert to_text(recording) == file.read_text(encoding="utf-8")


def set_at(*path: str | int) -> Callable[[dict[str, Any], object], None]:
    def change(data: dict[str, Any], value: object) -> None:
        place: Any = data
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("format",), "other", "format"),
        (("version",), 4, "version"),
        (("version",), True, "version"),
        (("version",), "1", "version"),
        (("facts",), [], "facts"),
        (("facts", "gpu"), [], "facts.gpu"),
        (("facts", "gpus"), {}, "facts.gpus"),
        (("facts", "gpus", 0, "name"), None, "facts.gpus[0].name"),
        (("facts", "gpus", 0, "name"), "\ud800", "facts.gpus[0].name"),
        (("facts", "gpus", 0, "index"), True, "facts.gpus[0].index"),
        (("facts", "gpus", 0, "vram_total_bytes"), -1, "facts.gpus[0].vram_total_bytes"),
        (("facts", "gpus", 0, "vram_total_bytes"), 1.5, "facts.gpus[0].vram_total_bytes"),
        (("facts", "gpus", 0, "vram_total_bytes"), 2**63, "facts.gpus[0].vram_total_bytes"),
        (("facts", "gpus", 0, "drives_display"), 1, "facts.gpus[0].drives_display"),
        (("facts", "driver", "cuda_version"), [12], "facts.driver.cuda_version"),
        (("facts", "driver", "cuda_version"), [12, "4"], "facts.driver.cuda_version[1]"),
        (("facts", "host", "cpu"), None, "facts.host.cpu"),
        (("facts", "host", "disks", 0, "mount"), 3, "facts.host.disks[0].mount"),
        (("facts", "findings", 0, "code"), "no-such-code", "facts.findings[0].code"),
        (("facts", "findings", 0, "severity"), "fatal", "facts.findings[0].severity"),
        (("facts", "findings", 0, "values"), {"a": {}}, "facts.findings[0].values"),
        (("facts", "findings", 0), {}, "facts.findings[0]"),
        (("samples", 0, "monotonic_seconds"), "now", "samples[0].monotonic_seconds"),
        (("samples", 0, "monotonic_seconds"), 10**400, "samples[0].monotonic_seconds"),
    ],
)
def test_a_value_that_does_not_belong_is_named_by_its_place(
    path: tuple[str | int, ...], value: object, field: str
) -> None:
    data = document()
    set_at(*path)(data, value)
    assert refusal(data)[0] == field


def test_a_value_that_must_be_there_is_named_when_it_is_missing() -> None:
    data = document()
    del data["facts"]["gpus"][0]["name"]
    assert refusal(data) == ("facts.gpus[0].name", "a value")


def test_a_whole_number_is_accepted_where_a_fraction_could_be() -> None:
    data = document()
    data["samples"][0]["monotonic_seconds"] = 3
    recording = parse_recording(json.dumps(data).encode(), "m.json")
    assert recording.samples[0].monotonic_seconds == 3.0
    assert isinstance(recording.samples[0].monotonic_seconds, float)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"<html>",
        b"[" * 100_000,
        b'{"format": NaN}',
        b'{"version": ' + b"9" * 5000 + b"}",
    ],
)
def test_what_is_not_json_is_refused_as_a_whole(content: bytes) -> None:
    with pytest.raises(FindingError) as failure:
        parse_recording(content, "m.json")
    assert failure.value.finding.values["field"] == "$"


def test_a_file_far_too_big_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.hardware.recording.LARGEST_FILE_BYTES", 100)
    with pytest.raises(FindingError) as failure:
        parse_recording(b" " * 101, "m.json")
    assert failure.value.finding.values["field"] == "$"


def test_a_missing_recording_and_a_folder_are_different_findings(tmp_path: Path) -> None:
    for path, code in ((tmp_path / "no", FindingCode.PATH_MISSING), (tmp_path, FindingCode.NOT_A_FILE)):
        with pytest.raises(FindingError) as failure:
            load_recording(path)
        assert failure.value.finding.code is code


def test_a_recording_that_cannot_be_written_is_a_finding(tmp_path: Path) -> None:
    with pytest.raises(FindingError) as failure:
        save_recording(FACTS, tmp_path / "no such folder" / "m.json", names=NOBODY)
    assert failure.value.finding.code is FindingCode.STORE_READ_ONLY


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def places(data: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the path of every value of a document."""
    items: list[tuple[str | int, Any]] = []
    if isinstance(data, dict):
        items = list(data.items())
    elif isinstance(data, list):
        items = list(enumerate(data))
    found = [at] if at else []
    for step, value in items:
        found += places(value, (*at, step))
    return found


@given(st.binary(max_size=200))
def test_any_bytes_give_a_recording_or_its_one_error(content: bytes) -> None:
    _parse_or_refuse(content)


@given(st.data())
def test_any_value_anywhere_gives_a_recording_or_its_one_error(data: st.DataObject) -> None:
    changed = document()
    path = data.draw(st.sampled_from(places(changed)))
    set_at(*path)(changed, data.draw(JSON_VALUES))
    _parse_or_refuse(json.dumps(changed).encode())


def _parse_or_refuse(content: bytes) -> None:
    try:
        recording = parse_recording(content, "m.json")
    except FindingError as reason:
        assert reason.finding.code is FindingCode.RECORDING_INVALID
    else:
        # what is accepted can be written and read again
        assert parse_recording(to_text(recording).encode(), "m.json") == recording


def test_saving_takes_personal_names_out(tmp_path: Path) -> None:
    disk = replace(FAKE_HOST.disks[0], mount="/media/alice/Alice's holiday")
    facts = replace(FACTS, host=replace(FAKE_HOST, disks=(disk,)))
    save_recording(facts, tmp_path / "m.json", names=PersonalNames(user=("alice",)))
    assert "alice" not in (tmp_path / "m.json").read_text(encoding="utf-8").lower()
