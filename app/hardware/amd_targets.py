"""AMD's names of instruction sets, for systems that tell a card's number and not what it computes with."""

from collections.abc import Mapping
from typing import Final

AMD_VENDOR_ID: Final = 0x1002

_DEVICES: Final[Mapping[str, tuple[int, ...]]] = {
    "gfx900": (0x6860, 0x6863, 0x687F),
    "gfx906": (0x66A1, 0x66AF),
    "gfx908": (0x738C, 0x738E),
    "gfx90a": (0x7408, 0x740C, 0x740F),
    "gfx90c": (0x1636, 0x1638, 0x164C, 0x15E7),
    "gfx1010": (0x731F,),
    "gfx1012": (0x7340,),
    "gfx1030": (0x73A3, 0x73A5, 0x73AF, 0x73BF),
    "gfx1031": (0x73DF,),
    "gfx1032": (0x73E3, 0x73EF, 0x73FF),
    "gfx1034": (0x743F,),
    "gfx1035": (0x1681,),
    "gfx1036": (0x164E,),
    "gfx1100": (0x7448, 0x744C, 0x745E),
    "gfx1101": (0x7470, 0x747E),
    "gfx1102": (0x7480, 0x7483),
    "gfx1103": (0x15BF, 0x15C8, 0x1900, 0x1901),
    "gfx1150": (0x150E,),
    "gfx1151": (0x1586,),
    "gfx1152": (0x1114,),
    "gfx1200": (0x7590,),
    "gfx1201": (0x7550, 0x7551),
}
"""Instruction set -> PCI numbers of devices. A device that is not here has no name: nothing is guessed."""

_TARGETS: Final = {device: target for target, devices in _DEVICES.items() for device in devices}


def gfx_target_of(vendor_id: int | None, device_id: int | None) -> str | None:
    """Return e.g. `gfx1100` for a card of AMD; None for others and for unknown ones."""
    return _TARGETS.get(device_id or 0) if vendor_id == AMD_VENDOR_ID else None
