"""One card's live values from Linux: amdgpu, i915 and xe name their files differently."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.hardware.sysfs import entries, read_number, read_text

_HWMON_NAMES: Final = frozenset(("amdgpu", "i915", "xe", "nouveau"))
_CORE_LABELS: Final = ("edge", "pkg")
"""What amdgpu and xe call the core's own sensor; others have one sensor without a label."""

_PLAUSIBLE_CELSIUS: Final = range(1, 150)
_PWM_FULL: Final = 255
_MEGAHERTZ: Final = 1_000_000
_CHOSEN_CLOCK: Final = re.compile(r"^\s*\d+:\s*(\d{1,5})\s*mhz\s*\*\s*$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Memory:
    """Both pools of a card. `None` = the driver does not tell.

    Attributes:
        shared_total_bytes: RAM it may use (amdgpu's GTT).
    """

    total_bytes: int | None = None
    used_bytes: int | None = None
    shared_total_bytes: int | None = None
    shared_used_bytes: int | None = None

    @property
    def free_bytes(self) -> int | None:
        """What is left of its own memory."""
        return _left(self.total_bytes, self.used_bytes)

    @property
    def shared_free_bytes(self) -> int | None:
        """What is left of the RAM it may use."""
        return _left(self.shared_total_bytes, self.shared_used_bytes)


@dataclass(frozen=True, slots=True)
class Power:
    """Board draw.

    Attributes:
        energy_microjoules: A counter, where the driver counts energy and does not state power.
    """

    milliwatts: int | None = None
    limit_milliwatts: int | None = None
    energy_microjoules: int | None = None


def read_memory(card: Path) -> Memory:
    """Read memory under `card`, e.g. /sys/class/drm/card0.

    Sources: amdgpu `mem_info_*`; xe `physical_vram_size_bytes` of each tile; i915 with Intel's own
    additions `lmem_*`. Upstream i915 exports none.
    """
    device = card / "device"
    total = read_number(device / "mem_info_vram_total")
    if total is not None:
        return Memory(
            total,
            read_number(device / "mem_info_vram_used"),
            read_number(device / "mem_info_gtt_total"),
            read_number(device / "mem_info_gtt_used"),
        )
    local = read_number(card / "lmem_total_bytes")
    if local:
        return Memory(local, _left(local, read_number(card / "lmem_avail_bytes")))
    tiles = [
        size
        for pattern in ("tile*/physical_vram_size_bytes", "tile*/memory/physical_vram_size_bytes")
        for size in map(read_number, entries(device, pattern))
        if size
    ]
    return Memory(sum(tiles) or None)


def read_power(hwmon: Path | None) -> Power:
    """Read power; drivers count in microwatts."""
    if hwmon is None:
        return Power()
    drawn = _first(hwmon, "power1_average", "power1_input")
    # 0 means that no limit is set
    limit = _first(hwmon, "power1_cap", "power1_max", "power2_max", "power1_rated_max", "power2_rated_max")
    energy = _first(hwmon, "energy1_input", "energy2_input") if drawn is None else None
    return Power(_thousandth(drawn), _thousandth(limit) or None, energy)


def read_temperature(hwmon: Path | None) -> int | None:
    """Read the core sensor in degrees."""
    if hwmon is None:
        return None
    labels = {read_text(file): file for file in entries(hwmon, "temp*_label")}
    core = next((labels[name] for name in _CORE_LABELS if name in labels), hwmon / "temp1_label")
    celsius = _thousandth(read_number(core.with_name(core.name.replace("_label", "_input"))))
    return celsius if celsius in _PLAUSIBLE_CELSIUS else None


def read_fan(hwmon: Path | None) -> tuple[int | None, int | None]:
    """Return (percent, turns per minute)."""
    if hwmon is None:
        return None, None
    duty = read_number(hwmon / "pwm1")
    percent = None if duty is None or duty > _PWM_FULL else round(100 * duty / _PWM_FULL)
    return percent, read_number(hwmon / "fan1_input")


def read_core_clock(card: Path, hwmon: Path | None) -> int | None:
    """Return the clock of the compute units in hertz; Intel's stands still at 0 while nothing runs."""
    if hwmon is not None and (hertz := read_number(hwmon / "freq1_input")) is not None:
        return hertz
    chosen = _CHOSEN_CLOCK.search(read_text(card / "device" / "pp_dpm_sclk") or "")
    if chosen:
        return int(chosen[1]) * _MEGAHERTZ
    places = ("gt_act_freq_mhz", "gt/gt0/rps_act_freq_mhz", "device/tile0/gt0/freq0/act_freq")
    megahertz = next((n for n in (read_number(card / place) for place in places) if n is not None), None)
    return None if megahertz is None else megahertz * _MEGAHERTZ


def read_utilization(card: Path) -> int | None:
    """Return 0..100; only amdgpu tells."""
    percent = read_number(card / "device" / "gpu_busy_percent")
    return percent if percent is not None and percent <= 100 else None


def find_hwmon(card: Path) -> Path | None:
    """Return the folder of the card's sensors."""
    folders = entries(card / "device" / "hwmon", "hwmon*")
    return next((folder for folder in folders if read_text(folder / "name") in _HWMON_NAMES), None)


def _first(folder: Path, *names: str) -> int | None:
    values = (read_number(folder / name) for name in names)
    return next((value for value in values if value is not None), None)


def _thousandth(value: int | None) -> int | None:
    return None if value is None else round(value / 1000)


def _left(total: int | None, part: int | None) -> int | None:
    return None if total is None or part is None else max(0, total - part)
