"""Raw answers of sources: kept word for word, and no name of a person, machine or part among them."""

import ctypes
import json
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.findings import FindingCode, warning
from app.hardware.facts import DiskInfo, DriverInfo, GpuInfo, HardwareFacts, RuntimeFacts
from app.hardware.nvml import NvmlSource
from app.hardware.pseudonyms import (
    PersonalNames,
    cleaner_for,
    names_of_this_machine,
    pseudonym,
    without_personal_names,
)
from app.hardware.raw_answers import LONGEST_ANSWER, MOST_ANSWERS, NoAnswers, RawAnswer, RawAnswers
from app.hardware.raw_files import add_files
from app.hardware.recording import Recording, parse_recording, read_recording, save_recording, to_text
from app.hardware.this_machine import detect_this_machine
from tests.fakes import FAKE_HOST, GIB

UUID = "GPU-5d1c8f0e-1111-2222-3333-444455556666"
OTHER = "GPU-7a1c8f0e-1111-2222-3333-444455556666"
ALICE = PersonalNames(user=("alice",), machine=("alices-tower",))
FACTS = HardwareFacts(FAKE_HOST, gpus=(GpuInfo(0, "A", "nvidia", UUID), GpuInfo(1, "B", "nvidia", OTHER)))


class Struct(ctypes.Structure):
    _fields_ = [("total", ctypes.c_uint64), ("busId", ctypes.c_char * 16)]


@dataclass(frozen=True, slots=True)
class Adapter:
    name: str
    serial_number: str


class Library:
    """A library as adapters see one."""

    VERSION = 12

    class Error(Exception):
        pass

    def name(self, index: int) -> bytes:
        return b"Card of Alice"

    def memory(self) -> Struct:
        return Struct(24 * GIB, b"0000:01:00.0")

    def uuid(self) -> str:
        return UUID

    def adapters(self) -> tuple[Adapter, ...]:
        return (Adapter("x", "S-12345"),)

    def fails(self) -> None:
        raise Library.Error("no /home/alice/x")

    def serial(self) -> str:
        return "S-12345"


def told(raw: RawAnswers) -> dict[str, RawAnswer]:
    return {answer.question: answer for answer in raw.told(cleaner_for(FACTS, ALICE))}


def test_a_watched_library_answers_as_before_and_its_answers_are_kept() -> None:
    raw = RawAnswers()
    library = raw.watched("lib", Library())
    assert library.VERSION == 12
    assert library.name(3) == b"Card of Alice"
    assert library.memory().total == 24 * GIB
    with pytest.raises(Library.Error):
        library.fails()
    answers = told(raw)
    assert answers["name(3)"] == RawAnswer("lib", "name(3)", "Card of user")
    assert json.loads(answers["memory()"].answer or "") == {"total": 24 * GIB, "busId": "0000:01:00.0"}
    assert answers["fails()"] == RawAnswer("lib", "fails()", None, "Error: no /home/user/x")


def test_serial_numbers_are_not_even_kept() -> None:
    raw = RawAnswers()
    library = raw.watched("lib", Library())
    library.serial()
    library.adapters()
    assert list(told(raw)) == ["adapters()"]
    assert "12345" not in (told(raw)["adapters()"].answer or "")


def test_a_card_has_the_same_pseudonym_in_raw_answers_and_in_facts() -> None:
    raw = RawAnswers()
    raw.watched("lib", Library()).uuid()
    assert told(raw)["uuid()"].answer == without_personal_names(FACTS, ALICE).gpus[0].uuid


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"hidden: {OTHER}", f"hidden: {pseudonym(OTHER)}"),
        ("GPU-7a1c", pseudonym(OTHER)),
        ("GPU-5D1C8F0E", pseudonym(UUID)),
        ("GPU-accelerated, GPU-anon-0123456789abcdef", "GPU-accelerated, GPU-anon-0123456789abcdef"),
        ("ether 3c:52:82:aa:bb:0c up", "ether 00:00:00:00:00:00 up"),
        ("3C-52-82-AA-BB-0C", "00:00:00:00:00:00"),
        ("00000000:01:00.0 and 10:22:33", "00000000:01:00.0 and 10:22:33"),
        ("C:\\Users\\alice\\x", "C:\\Users\\user\\x"),
        ("alice_backup on ALICES-TOWER", "user_backup on machine"),
    ],
)
def test_cards_addresses_and_names_in_any_text_are_replaced(text: str, expected: str) -> None:
    assert cleaner_for(FACTS, ALICE)(text) == expected


def test_a_variable_that_names_a_card_names_its_pseudonym_and_still_hides_the_other() -> None:
    hiding = RuntimeFacts(gpu_variables=(("CUDA_VISIBLE_DEVICES", "GPU-7a1c,0"),))
    finding = warning(
        FindingCode.GPU_HIDDEN, variable="CUDA_VISIBLE_DEVICES", value="GPU-7a1c", hidden=("A",)
    )
    clean = without_personal_names(
        HardwareFacts(FAKE_HOST, gpus=FACTS.gpus, findings=(finding,), runtime=hiding), ALICE
    )
    assert clean.runtime is not None
    assert clean.runtime.gpu_variables == (("CUDA_VISIBLE_DEVICES", f"{pseudonym(OTHER)},0"),)
    assert clean.findings[0].values["value"] == pseudonym(OTHER)
    assert without_personal_names(clean, ALICE) == clean


def test_too_many_and_too_long_answers_are_cut() -> None:
    raw = RawAnswers()
    raw.add("x", "long", "y" * (LONGEST_ANSWER + 9))
    for i in range(MOST_ANSWERS + 9):
        raw.add("x", str(i), i)
    answers = raw.told(str)
    assert len(answers) == MOST_ANSWERS
    assert len(answers[0].answer or "") < LONGEST_ANSWER + 50


def test_answers_may_come_from_many_threads() -> None:
    raw = RawAnswers()
    threads = [threading.Thread(target=raw.add, args=("x", str(i), i)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(raw.told(str)) == 20


def test_who_keeps_nothing_stands_between_nobody() -> None:
    library = Library()
    assert NoAnswers().watched("lib", library) is library


def test_the_nvidia_source_uses_what_stands_in_for_its_library() -> None:
    raw = RawAnswers()
    source = NvmlSource(watched=lambda library: raw.watched("nvml", library))
    try:
        driver: DriverInfo | None = source.driver()
    except Exception:  # noqa: BLE001  # no card here is no matter
        driver = None
    questions = [answer.question for answer in raw.told(str)]
    assert "nvmlInit()" in questions
    assert driver is None or "nvmlSystemGetDriverVersion()" in questions


def tree(root: Path, **files: str) -> None:
    for name, text in files.items():
        file = root / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())


def test_files_are_kept_as_they_are_and_a_sleeping_card_is_not_woken(tmp_path: Path) -> None:
    for card, status in (("card0", "active\n"), ("card1", "suspended\n")):
        base = f"sys__class__drm__{card}__device"
        tree(tmp_path, **{f"{base}__vendor": "0x1002\n", f"{base}__mem_info_vram_total": "17163091968\n"})
        tree(tmp_path, **{f"{base}__power__runtime_status": status})
    tree(tmp_path, proc__cpuinfo="model name\t: A CPU\n\nmodel name\t: Another\n")
    raw = RawAnswers()
    add_files(raw, tmp_path)
    answers = {answer.question: answer.answer for answer in raw.told(str)}
    assert answers["/sys/class/drm/card0/device/mem_info_vram_total"] == "17163091968"
    assert "/sys/class/drm/card1/device/mem_info_vram_total" not in answers
    assert answers["/sys/class/drm/card1/device/vendor"] == "0x1002"
    assert answers["/proc/cpuinfo"] == "model name\t: A CPU"


def test_a_recording_with_raw_answers_is_of_version_2_and_comes_back(tmp_path: Path) -> None:
    raw = RawAnswers()
    raw.watched("lib", Library()).name(1)
    save_recording(FACTS, tmp_path / "m.json", raw=raw, names=ALICE)
    document = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert document["version"] == 2
    assert read_recording(tmp_path / "m.json").raw == (RawAnswer("lib", "name(1)", "Card of user"),)


def test_a_recording_of_version_1_is_read() -> None:
    document = json.loads(to_text(Recording(FACTS)))
    assert document["version"] == 1
    assert parse_recording(json.dumps(document).encode(), "m.json").raw == ()


def test_no_name_of_this_machine_is_in_a_recording_of_it(tmp_path: Path) -> None:
    raw = RawAnswers()
    facts = detect_this_machine(raw)
    add_files(raw)
    save_recording(facts, tmp_path / "m.json", raw=raw)
    text = (tmp_path / "m.json").read_text(encoding="utf-8").lower()
    names = names_of_this_machine()
    words = set("".join(c if c.isalnum() else " " for c in text).split())
    for name in (*names.user, *names.machine):
        assert len(name) < 3 or name == "user" or name.lower() not in words
    assert str(Path.home()).lower() not in text


NAMES = st.text(st.characters(categories=("L", "N")), min_size=3, max_size=12)


@settings(max_examples=200)
@given(
    user=NAMES,
    machine=NAMES,
    text=st.text(max_size=40),
    card=st.uuids(),
    mac=st.binary(min_size=6, max_size=6).filter(any),
)
def test_no_name_survives_wherever_a_source_says_it(
    user: str, machine: str, text: str, card: object, mac: bytes
) -> None:
    names = PersonalNames((user,), (machine,))
    uuid, address = f"GPU-{card}", mac.hex(":")
    facts = HardwareFacts(
        FAKE_HOST,
        gpus=(GpuInfo(0, "A", "nvidia", uuid),),
        findings=(warning(FindingCode.PROBE_FAILED, probe="host", detail=f"{text} /home/{user}/x {uuid}"),),
    )
    raw = RawAnswers()
    raw.add("x", f"/sys/{user}", {"a": [f"{text} {uuid} ({user})", {"b": f"{machine}: {address} {card}"}]})
    said = json.dumps([vars_of(answer) for answer in raw.told(cleaner_for(facts, names))], ensure_ascii=False)
    said += str(without_personal_names(facts, names).findings)
    for secret in (uuid, str(card), address):
        assert secret not in said
    for name, before, after in ((user, "(", ")"), (machine, '"', ":"), (user, "/home/", "/")):
        if name.lower() not in ("user", "machine"):
            assert f"{before}{name}{after}" not in said


def vars_of(answer: RawAnswer) -> list[str | None]:
    return [answer.source, answer.question, answer.answer, answer.error]


def test_a_measured_drive_has_the_pseudonym_of_its_mount() -> None:
    from dataclasses import replace

    from app.hardware.speeds import StorageSpeed

    mount = "/media/alice/Tax 2026"
    host = replace(FAKE_HOST, disks=(DiskInfo("/", GIB, GIB), DiskInfo(mount, GIB, GIB)))
    facts = HardwareFacts(host, storage_speeds=(StorageSpeed(mount, 1, 1, "direct", (), 0),))
    clean = without_personal_names(facts, ALICE)
    assert clean.host is not None
    assert clean.storage_speeds[0].mount == clean.host.disks[1].mount == "/mnt/disk-1"
