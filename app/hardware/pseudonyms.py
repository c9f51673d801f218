"""Takes out of HardwareFacts what names a person or one single card, before they leave the machine."""

import contextlib
import getpass
import hashlib
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.findings import Finding, FindingValue
from app.hardware.facts import DiskInfo, GpuInfo, HardwareFacts

USER: Final = "user"
MACHINE: Final = "machine"
SHORTEST_NAME: Final = 3
"""Names below this length are words by chance more often than names."""

_PSEUDONYM: Final = re.compile(r"^[A-Za-z]+-anon-[0-9a-f]{16}$")
_IMPERSONAL: Final = re.compile(r"^([A-Za-z]:[\\/]?|/mnt/disk-\d+)$")
_SYSTEM_MOUNTS: Final = frozenset(
    ("/", "/boot", "/boot/efi", "/data", "/efi", "/home", "/mnt", "/opt", "/srv", "/tmp", "/usr", "/var")
)
_HOMES: Final = re.compile(r"(?P<head>(?:/home/|/Users/|/media/|[A-Za-z]:\\Users\\))(?P<name>[^/\\'\"]+)")


@dataclass(frozen=True, slots=True)
class PersonalNames:
    """What must not leave this machine.

    Attributes:
        user: Login name and the name of the home folder.
        machine: The computer's own name.
    """

    user: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()


def names_of_this_machine() -> PersonalNames:
    """Return the names of the current user and of this computer."""
    users: set[str] = set()
    # in containers the user may be in no password database
    with contextlib.suppress(RuntimeError):
        users.add(Path.home().name)
    with contextlib.suppress(OSError, KeyError, ImportError):
        users.add(getpass.getuser())
    return PersonalNames(tuple(sorted(users)), (platform.node(),))


def without_personal_names(facts: HardwareFacts, names: PersonalNames | None = None) -> HardwareFacts:
    """Return the facts with names replaced; doing it twice changes nothing more.

    Card names become stable pseudonyms, mount points other than the usual ones lose their labels.
    """
    known = names_of_this_machine() if names is None else names
    cleaner = _Cleaner(known, _card_pseudonyms(facts.gpus), _mount_pseudonyms(facts))
    host = facts.host
    if host is not None:
        host = replace(
            host,
            os_version=None if host.os_version is None else cleaner.clean(host.os_version),
            disks=tuple(cleaner.disk(disk) for disk in host.disks),
        )
    return replace(
        facts,
        host=host,
        gpus=tuple(cleaner.gpu(gpu) for gpu in facts.gpus),
        findings=tuple(cleaner.finding(finding) for finding in facts.findings),
    )


def text_without_personal_names(text: str, names: PersonalNames | None = None) -> str:
    """Return free text, as a log's, with the names of person and machine replaced."""
    known = names_of_this_machine() if names is None else names
    return _Cleaner(known, {}, {}).clean(text)


def pseudonym(uuid: str) -> str:
    """Return a name that is the same for the same card and does not tell which card it is."""
    if _PSEUDONYM.match(uuid):
        return uuid
    kind = uuid.partition("-")[0]
    digest = hashlib.sha256(uuid.encode("utf-8", errors="replace")).hexdigest()[:16]
    return f"{kind if kind.isalpha() and kind.isascii() else 'GPU'}-anon-{digest}"


@dataclass(frozen=True, slots=True)
class _Cleaner:
    names: PersonalNames
    cards: Mapping[str, str]
    mounts: Mapping[str, str]

    def clean(self, text: str) -> str:
        for old, new in self.cards.items():
            text = text.replace(old, new)
        text = _HOMES.sub(lambda found: f"{found['head']}{USER}", text)
        for words, new in ((self.names.user, USER), (self.names.machine, MACHINE)):
            for word in words:
                if len(word) >= SHORTEST_NAME:
                    text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", new, text, flags=re.IGNORECASE)
        return text

    def disk(self, disk: DiskInfo) -> DiskInfo:
        return replace(disk, mount=self.mounts[disk.mount])

    def gpu(self, gpu: GpuInfo) -> GpuInfo:
        return replace(gpu, uuid=self.cards[gpu.uuid]) if gpu.uuid else gpu

    def finding(self, finding: Finding) -> Finding:
        return replace(finding, values={name: self.value(item) for name, item in finding.values.items()})

    def value(self, value: FindingValue) -> FindingValue:
        if isinstance(value, tuple):
            return tuple(self.scalar(item) if isinstance(item, str) else item for item in value)
        return self.scalar(value) if isinstance(value, str) else value

    def scalar(self, text: str) -> str:
        return self.mounts.get(text) or self.clean(text)


def _card_pseudonyms(gpus: tuple[GpuInfo, ...]) -> dict[str, str]:
    return {gpu.uuid: pseudonym(gpu.uuid) for gpu in gpus if gpu.uuid}


def _mount_pseudonyms(facts: HardwareFacts) -> dict[str, str]:
    disks = () if facts.host is None else facts.host.disks
    return {
        disk.mount: disk.mount if _is_impersonal(disk.mount) else f"/mnt/disk-{i}"
        for i, disk in enumerate(disks)
    }


def _is_impersonal(mount: str) -> bool:
    return mount in _SYSTEM_MOUNTS or bool(_IMPERSONAL.match(mount))
