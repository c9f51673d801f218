"""Mounted drives: how full each is, and whether it spins, can be pulled out, or lies on another computer."""

import shutil
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from app.hardware.facts import DiskInfo
from app.hardware.probe import Probe
from app.hardware.sysfs import entries, read_number
from app.hardware.windows_drives import read_device, with_device

NETWORK_FILE_SYSTEMS: Final = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "davfs", "glusterfs"),
        *("fuse.glusterfs", "fuse.sshfs"),
    )
)
CLOUD_FILE_SYSTEMS: Final = frozenset(
    (
        *("fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.goofys", "fuse.blobfuse2"),
        *("fuse.google-drive-ocamlfuse", "fuse.onedriver"),
    )
)
REMOTE_SECONDS: Final = 0.5
"""A server that does not answer within this is left out: asking it for long would hide all other drives."""

LOCAL_SECONDS: Final = 3.0
"""Spinning up takes longer, failing takes minutes: neither may hide memory and processor."""

_MOST_LAYERS: Final = 8
"""Encrypted volumes on volume groups on arrays; deeper is a loop."""


@dataclass(frozen=True, slots=True)
class Mount:
    """What the system lists.

    Attributes:
        device: e.g. `/dev/nvme0n1p2`, `server:/models`, `D:\\`.
        options: Comma-separated; on Windows with the kind of drive among them.
    """

    path: str
    device: str = ""
    file_system: str | None = None
    options: str = ""


def disk_infos(mounts: Iterable[Mount]) -> tuple[DiskInfo, ...]:
    """Return the drives that answer: no empty card readers, no locked ones, no lost servers."""
    asked = [(mount, Probe("drive", partial(_disk, mount))) for mount in mounts]
    began = time.monotonic()
    found = []
    for mount, probe in asked:
        patience = REMOTE_SECONDS if is_remote(mount.file_system) else LOCAL_SECONDS
        disk = probe.outcome(began + patience - time.monotonic()).value
        if disk is not None:
            found.append(disk)
    return tuple(found)


def is_remote(file_system: str | None) -> bool:
    """Return whether the data of such a mount lie on other computers."""
    return file_system in NETWORK_FILE_SYSTEMS or file_system in CLOUD_FILE_SYSTEMS


def drive_of(path: Path, disks: Iterable[DiskInfo]) -> DiskInfo | None:
    """Return the drive a file lies on: the one whose mount point is nearest above it."""
    above = {str(parent) for parent in (path, *path.parents)}
    fitting = [disk for disk in disks if str(Path(disk.mount)) in above]
    return max(fitting, key=lambda disk: len(disk.mount), default=None)


def linux_kind(disk: DiskInfo, device: str, root: Path = Path("/sys")) -> DiskInfo:
    """Return the disk with what Linux knows of the drive behind it."""
    is_cloud = disk.file_system in CLOUD_FILE_SYSTEMS
    is_network = disk.file_system in NETWORK_FILE_SYSTEMS
    drives = () if is_cloud or is_network else _drives(Path(device).name, root)
    spins = [None if _is_virtual(drive) else read_number(drive / "queue" / "rotational") for drive in drives]
    return replace(
        disk,
        is_cloud=is_cloud,
        is_network=is_network,
        is_rotational=any(spins) if spins and None not in spins else None,
        is_removable=any(map(_can_be_pulled, drives)) if drives else None,
    )


def windows_kind(disk: DiskInfo, options: str) -> DiskInfo:
    """Return the disk with the kind of drive that Windows names among a mount's options."""
    words = options.split(",")
    return replace(disk, is_network="remote" in words, is_removable="removable" in words)


def _disk(mount: Mount) -> DiskInfo | None:
    usage = _usage(mount)
    return None if usage is None else _with_kind(DiskInfo(mount.path, *usage, mount.file_system), mount)


def _with_kind(disk: DiskInfo, mount: Mount) -> DiskInfo:
    if sys.platform == "win32":
        told = windows_kind(disk, mount.options)
        return told if told.is_network else with_device(told, read_device(mount.path))
    return linux_kind(disk, mount.device)


def _usage(mount: Mount) -> tuple[int, int] | None:
    # bind-mounted single files are listed like disks
    if not Path(mount.path).is_dir():
        return None
    try:
        usage = shutil.disk_usage(mount.path)
    except OSError:  # a card reader without a card, a locked drive
        return None
    return (usage.total, usage.free) if usage.total else None


def _drives(name: str, root: Path, layers: int = 0) -> tuple[Path, ...]:
    """Return the whole drives under a block device: a partition's drive, or those of all layers below."""
    try:
        device = (root / "class" / "block" / name).resolve(strict=True)
    except OSError:
        return ()
    below = [slave.name for slave in entries(device / "slaves", "*")]
    if below and layers < _MOST_LAYERS:
        return tuple(drive for slave in below for drive in _drives(slave, root, layers + 1))
    return (device.parent if (device / "partition").exists() else device,)


def _can_be_pulled(drive: Path) -> bool:
    return bool(read_number(drive / "removable")) or any(part.startswith("usb") for part in drive.parts)


def _is_virtual(drive: Path) -> bool:
    # a virtual machine's drives say that they spin, whatever the host's do
    return drive.name.startswith(("vd", "xvd"))
