"""Linux control groups, both versions: what a container or a service manager lets this process have."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from app.hardware.sysfs import parse_count

_NO_LIMIT_BYTES: Final = 2**60
"""Version 1 writes "no limit" as the largest page-aligned number."""


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """The tightest limit on the way to the root.

    Attributes:
        limit_bytes: Most this group may hold.
        available_bytes: What is left of it, page cache counted as free: it is given back on demand.
    """

    limit_bytes: int
    available_bytes: int


@dataclass(frozen=True, slots=True)
class _Names:
    """The files of one version."""

    limit: str
    used: str
    cache_keys: tuple[str, str]


_V1: Final = _Names(
    "memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")
)
_V2: Final = _Names("memory.max", "memory.current", ("inactive_file", "active_file"))


class ControlGroups:
    """The groups of one process."""

    def __init__(
        self,
        root: Path = Path("/sys/fs/cgroup"),
        membership: Path = Path("/proc/self/cgroup"),
    ) -> None:
        """Read which groups the process is in; none where the system has no control groups."""
        self._folders = {"": root / "unified" if (root / "unified").is_dir() else root}
        self._paths: dict[str, PurePosixPath] = {}
        for line in (_read(membership) or "").splitlines():
            _, _, rest = line.partition(":")
            controllers, separator, path = rest.partition(":")
            if separator:
                self._add(root, controllers, PurePosixPath(path))

    def memory_limit(self) -> MemoryLimit | None:
        """Return the limit with the least left, or None without one."""
        found = [limit for limit in self._memory_limits() if limit is not None]
        return min(found, key=lambda limit: limit.available_bytes, default=None)

    def cpu_quota(self) -> float | None:
        """Return how many CPUs' worth of time the process may use, or None without a quota."""
        quotas = [_quota_v2(_read(folder / "cpu.max")) for folder in self._groups("")]
        for folder in self._groups("cpu"):
            quotas.append(_ratio(_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")))
        return min((quota for quota in quotas if quota is not None), default=None)

    def _add(self, root: Path, controllers: str, path: PurePosixPath) -> None:
        for controller in controllers.split(","):
            self._paths[controller] = path
            if controller:
                places = (root / controllers, root / controller)
                self._folders[controller] = next((p for p in places if p.is_dir()), places[0])

    def _groups(self, controller: str) -> Iterator[Path]:
        """Yield the process's own group and those above it.

        Inside a container the path may be the host's, and the container's own group is the root.
        """
        if controller in self._paths:
            path = self._paths[controller]
            for group in (path, *path.parents):
                yield self._folders[controller].joinpath(*(p for p in group.parts if p not in ("/", "..")))

    def _memory_limits(self) -> Iterator[MemoryLimit | None]:
        for controller, names in (("", _V2), ("memory", _V1)):
            for folder in self._groups(controller):
                yield _memory_limit(folder, names)


def _memory_limit(folder: Path, names: _Names) -> MemoryLimit | None:
    limit = _number(_read(folder / names.limit))
    if limit is None or limit >= _NO_LIMIT_BYTES:
        return None
    used = _number(_read(folder / names.used)) or 0
    cache = _cache_bytes(_read(folder / "memory.stat") or "", names.cache_keys)
    return MemoryLimit(limit, max(0, min(limit, limit - used + cache)))


def _cache_bytes(statistics: str, keys: tuple[str, str]) -> int:
    pairs = (line.split() for line in statistics.splitlines())
    return sum(_number(pair[1]) or 0 for pair in pairs if len(pair) == 2 and pair[0] in keys)


def _quota_v2(text: str | None) -> float | None:
    quota, _, period = (text or "").partition(" ")
    return _ratio(quota, period)


def _ratio(quota: str | None, period: str | None) -> float | None:
    above, below = _number(quota), _number(period)
    return above / below if above and below else None


def _number(text: str | None) -> int | None:
    return parse_count((text or "").strip())  # "max" and "-1" mean no limit


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
