"""Kinds of drives on written /sys trees, and which drive a file lies on."""

import shutil
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from app.hardware import drives
from app.hardware.drives import Mount, disk_infos, drive_of, linux_kind, windows_kind
from app.hardware.facts import DiskInfo

GIB = 1024**3
DISK = DiskInfo("/data", 500 * GIB, 200 * GIB, "ext4")
on_linux = pytest.mark.skipif(sys.platform == "win32", reason="written with links, which need rights there")


def add_drive(
    root: Path, name: str, partition: str, *, spins: int, removable: int = 0, bus: str = "ata1"
) -> None:
    drive = root / "devices" / "pci0000:00" / bus / "block" / name
    (drive / "queue").mkdir(parents=True)
    (drive / "queue" / "rotational").write_text(f"{spins}\n")
    (drive / "removable").write_text(f"{removable}\n")
    (drive / partition).mkdir()
    (drive / partition / "partition").write_text("1\n")
    listed = root / "class" / "block"
    listed.mkdir(parents=True, exist_ok=True)
    (listed / name).symlink_to(drive)
    (listed / partition).symlink_to(drive / partition)


def add_layer(root: Path, name: str, *below: str) -> None:
    layer = root / "devices" / "virtual" / "block" / name
    (layer / "slaves").mkdir(parents=True)
    for slave in below:
        (layer / "slaves" / slave).touch()
    (root / "class" / "block" / name).symlink_to(layer)


@on_linux
@pytest.mark.parametrize(("spins", "is_rotational"), [(0, False), (1, True)])
def test_a_partition_is_of_the_kind_of_its_drive(tmp_path: Path, spins: int, is_rotational: bool) -> None:
    add_drive(tmp_path, "sda", "sda2", spins=spins)
    disk = linux_kind(DISK, "/dev/sda2", tmp_path)
    assert (disk.is_rotational, disk.is_removable) == (is_rotational, False)
    assert (disk.is_network, disk.is_cloud) == (False, False)


@on_linux
def test_a_stick_and_a_drive_in_a_usb_case_can_be_pulled_out(tmp_path: Path) -> None:
    add_drive(tmp_path, "sdb", "sdb1", spins=1, removable=1)
    add_drive(tmp_path, "sdc", "sdc1", spins=0, bus="usb2")
    assert linux_kind(DISK, "/dev/sdb1", tmp_path).is_removable
    assert linux_kind(DISK, "/dev/sdc1", tmp_path).is_removable


@on_linux
def test_an_encrypted_volume_over_two_drives_spins_when_one_of_them_does(tmp_path: Path) -> None:
    add_drive(tmp_path, "sda", "sda2", spins=0)
    add_drive(tmp_path, "sdb", "sdb1", spins=1)
    add_layer(tmp_path, "dm-0", "sda2", "sdb1")
    add_layer(tmp_path, "dm-1", "dm-0")
    assert linux_kind(DISK, "/dev/dm-1", tmp_path).is_rotational


@on_linux
def test_a_virtual_machines_drive_does_not_know_whether_it_spins(tmp_path: Path) -> None:
    add_drive(tmp_path, "vda", "vda1", spins=1)
    assert linux_kind(DISK, "/dev/vda1", tmp_path).is_rotational is None


@pytest.mark.parametrize(
    ("file_system", "is_network", "is_cloud"),
    [("nfs4", True, False), ("cifs", True, False), ("fuse.rclone", False, True), ("xfs", False, False)],
)
def test_drives_elsewhere_are_known_by_their_file_system(
    tmp_path: Path, file_system: str, is_network: bool, is_cloud: bool
) -> None:
    disk = linux_kind(replace(DISK, file_system=file_system), "server:/models", tmp_path)
    assert (disk.is_network, disk.is_cloud, disk.is_rotational) == (is_network, is_cloud, None)


@pytest.mark.parametrize(
    ("options", "is_network", "is_removable"),
    [("rw,fixed", False, False), ("rw,remote", True, False), ("rw,removable", False, True)],
)
def test_windows_names_the_kind_among_the_options(options: str, is_network: bool, is_removable: bool) -> None:
    disk = windows_kind(DISK, options)
    assert (disk.is_network, disk.is_removable, disk.is_rotational) == (is_network, is_removable, None)


def test_a_server_that_does_not_answer_costs_its_own_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = threading.Event()
    lost = tmp_path / "lost"
    lost.mkdir()
    usage = shutil.disk_usage

    def ask(path: str) -> object:
        return never.wait() if path == str(lost) else usage(path)

    monkeypatch.setattr(shutil, "disk_usage", ask)
    monkeypatch.setattr(drives, "REMOTE_SECONDS", 0.1)
    found = disk_infos([Mount(str(lost), "server:/x", "nfs4"), Mount(str(tmp_path), "/dev/sda1", "ext4")])
    never.set()
    assert [disk.mount for disk in found] == [str(tmp_path)]


@pytest.mark.parametrize(
    ("path", "mount"), [("/data/models/a.gguf", "/data/models"), ("/data/a.gguf", "/data"), ("/a", "/")]
)
def test_a_file_lies_on_the_drive_mounted_nearest_above_it(path: str, mount: str) -> None:
    disks = [replace(DISK, mount=name) for name in ("/", "/data/models", "/data")]
    found = drive_of(Path(path), disks)
    assert found is not None
    assert found.mount == mount
    assert drive_of(Path("/x"), []) is None
