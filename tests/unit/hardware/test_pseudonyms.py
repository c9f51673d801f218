"""What names a person or one card leaves the machine as a stand-in, and nothing else changes."""

import getpass
from dataclasses import replace

import pytest

from app.findings import FindingCode, warning
from app.hardware.facts import DiskInfo, GpuInfo, HardwareFacts
from app.hardware.pseudonyms import PersonalNames, names_of_this_machine, pseudonym, without_personal_names
from tests.fakes import FAKE_HOST, GIB

ALICE = PersonalNames(user=("alice", "Alice Example"), machine=("alices-tower",))
UUID = "GPU-5d1c8f0e-1111-2222-3333-444455556666"


def machine(detail: str = "", *mounts: str) -> HardwareFacts:
    disks = tuple(DiskInfo(mount, 500 * GIB, GIB) for mount in mounts)
    return HardwareFacts(
        replace(FAKE_HOST, disks=disks),
        gpus=(GpuInfo(0, "NVIDIA GeForce RTX 4060", "nvidia", UUID),),
        findings=(warning(FindingCode.PROBE_FAILED, probe="host", detail=detail),),
    )


def cleaned_detail(detail: str) -> object:
    return without_personal_names(machine(detail), ALICE).findings[0].values["detail"]


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ("[Errno 13] Permission denied: '/home/alice/x'", "[Errno 13] Permission denied: '/home/user/x'"),
        (r"C:\Users\Bob Builder\AppData", r"C:\Users\user\AppData"),
        ("/run/media/bob/STICK", "/run/media/user/STICK"),
        ("ALICE said no", "user said no"),
        ("on alices-tower.local", "on machine.local"),
        ("malice and alices", "malice and alices"),
        (f"card {UUID} is lost", f"card {pseudonym(UUID)} is lost"),
        ("Input/output error", "Input/output error"),
    ],
)
def test_names_in_what_a_system_said_are_replaced(detail: str, expected: str) -> None:
    assert cleaned_detail(detail) == expected


def test_a_name_of_two_letters_is_left_since_it_is_a_word_by_chance() -> None:
    facts = without_personal_names(machine("no io"), PersonalNames(user=("io",)))
    assert facts.findings[0].values["detail"] == "no io"


def test_labels_of_drives_go_and_the_usual_mount_points_stay() -> None:
    mounts = ("/", "/home", "C:\\", "/media/alice/Tax 2026", "/mnt/alice")
    facts = without_personal_names(machine("", *mounts), ALICE)
    assert facts.host is not None
    assert [disk.mount for disk in facts.host.disks] == ["/", "/home", "C:\\", "/mnt/disk-3", "/mnt/disk-4"]


def test_a_finding_about_a_drive_still_names_the_same_drive() -> None:
    facts = machine("", "/", "/media/alice/Tax 2026")
    full = warning(FindingCode.DISK_ALMOST_FULL, mount="/media/alice/Tax 2026", free_bytes=1, total_bytes=2)
    clean = without_personal_names(replace(facts, findings=(full,)), ALICE)
    assert clean.host is not None
    assert clean.findings[0].values["mount"] == clean.host.disks[1].mount


def test_a_card_keeps_one_pseudonym_that_does_not_tell_which_card_it_is() -> None:
    (gpu,) = without_personal_names(machine(), ALICE).gpus
    assert gpu.uuid == pseudonym(UUID)
    assert gpu.uuid is not None
    assert gpu.uuid.startswith("GPU-anon-")
    assert UUID[4:12] not in gpu.uuid
    assert pseudonym(UUID) != pseudonym(UUID[:-1] + "7")


def test_numbers_and_product_names_stay_as_they_are() -> None:
    facts = machine("", "/")
    clean = without_personal_names(facts, PersonalNames(user=("nvidia", "geforce"), machine=("cpu",)))
    assert clean.host == facts.host
    assert clean.gpus[0].name == facts.gpus[0].name


def test_doing_it_twice_changes_nothing_more() -> None:
    facts = machine(f"/home/alice/{UUID} alices-tower", "/", "/media/alice/X", r"C:\Users\alice\mount")
    once = without_personal_names(facts, ALICE)
    assert without_personal_names(once, ALICE) == once


def test_the_names_of_this_machine_include_who_runs_this() -> None:
    assert getpass.getuser() in names_of_this_machine().user
