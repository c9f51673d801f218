"""Takes out of HardwareFacts what names a person or one single card, before they leave the machine."""

import contextlib
import getpass
import hashlib
import platform
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.findings import Finding, FindingValue
from app.hardware.engine_facts import EngineBuildFacts
from app.hardware.facts import DiskInfo, GpuInfo, HardwareFacts, RuntimeFacts

USER: Final = "user"
MACHINE: Final = "machine"
SHORTEST_NAME: Final = 3
"""Names below this length are words by chance more often than names."""

_PSEUDONYM: Final = re.compile(r"^[A-Za-z]+-anon-[0-9a-f]{16}$")
_IMPERSONAL: Final = re.compile(r"^([A-Za-z]:[\\/]?|/mnt/disk-\d+)$")
_SYSTEM_MOUNTS: Final = frozenset(
    ("/", "/boot", "/boot/efi", "/data", "/efi", "/home", "/mnt", "/opt", "/srv", "/tmp", "/usr", "/var")
)
_CARD: Final = re.compile(
    r"(?<![\w-])(?:GPU|MIG)-(?:GPU-)?(?=[a-f-]*\d)[0-9a-f][0-9a-f-]{3,}(?:/\d+/\d+)?(?![\w-])",
    re.IGNORECASE,
)
"""A card's name, or the beginning of one, which is enough for `CUDA_VISIBLE_DEVICES`."""

_UUID: Final = re.compile(r"(?<![\w-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])", re.IGNORECASE)
_MAC: Final = re.compile(
    r"(?<![\w:-])[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){4}(?![\w:-])", re.IGNORECASE
)
_NO_MAC: Final = "00:00:00:00:00:00"
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
    cleaner = _cleaner(facts, names)
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
        runtime=None if facts.runtime is None else cleaner.runtime(facts.runtime),
        storage_speeds=tuple(
            replace(speed, mount=cleaner.mounts.get(speed.mount or "")) for speed in facts.storage_speeds
        ),
    )


def engine_without_personal_names(
    engine: EngineBuildFacts | None, facts: HardwareFacts, names: PersonalNames | None = None
) -> EngineBuildFacts | None:
    """Return the build with names replaced; what it calls the cards stays, as what the system calls them."""
    if engine is None:
        return None
    clean = _cleaner(facts, names).clean
    return replace(
        engine,
        engine=clean(engine.engine),
        imports=tuple(map(clean, engine.imports)),
        missing_files=tuple(map(clean, engine.missing_files)),
        missing_libraries=(
            None if engine.missing_libraries is None else tuple(map(clean, engine.missing_libraries))
        ),
    )


def cleaner_for(facts: HardwareFacts, names: PersonalNames | None = None) -> Callable[[str], str]:
    """Return what replaces names in any text about this machine as `without_personal_names` does."""
    return _cleaner(facts, names).scalar


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


def _cleaner(facts: HardwareFacts, names: PersonalNames | None) -> "_Cleaner":
    known = names_of_this_machine() if names is None else names
    return _Cleaner(known, _card_pseudonyms(facts.gpus), _mount_pseudonyms(facts))


@dataclass(frozen=True, slots=True)
class _Cleaner:
    names: PersonalNames
    cards: Mapping[str, str]
    mounts: Mapping[str, str]

    def clean(self, text: str) -> str:
        for old, new in self.cards.items():
            text = text.replace(old, new)
        text = _CARD.sub(self._card, text)
        text = _UUID.sub(lambda found: pseudonym(f"id-{found[0].lower()}"), text)
        text = _MAC.sub(_NO_MAC, text)
        text = _HOMES.sub(lambda found: f"{found['head']}{USER}", text)
        for words, new in ((self.names.user, USER), (self.names.machine, MACHINE)):
            for word in words:
                if len(word) >= SHORTEST_NAME:
                    text = re.sub(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", new, text, flags=re.IGNORECASE)
        return text

    def _card(self, found: re.Match[str]) -> str:
        begun = found[0].lower()
        fitting = [new for old, new in self.cards.items() if old.lower().startswith(begun)]
        return fitting[0] if len(fitting) == 1 else pseudonym(found[0])

    def runtime(self, runtime: RuntimeFacts) -> RuntimeFacts:
        variables = tuple((name, self.clean(value)) for name, value in runtime.gpu_variables)
        return replace(runtime, gpu_variables=variables)

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
    listed = [disk.mount for disk in (facts.host.disks if facts.host else ())]
    measured = (speed.mount for speed in facts.storage_speeds)
    listed += [mount for mount in measured if mount is not None and mount not in listed]
    return {mount: mount if _is_impersonal(mount) else f"/mnt/disk-{i}" for i, mount in enumerate(listed)}


def _is_impersonal(mount: str) -> bool:
    return mount in _SYSTEM_MOUNTS or bool(_IMPERSONAL.match(mount))
