"""Which cards NVML knows, in an order that stays: a lost card keeps its place until it returns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from app.hardware.nvml_answers import Answers, text
from app.hardware.nvml_answers import number as number_of

MOST_CARDS: Final = 64
MOST_INSTANCES: Final = 16
"""More than any computer and any card has: a broken count must end."""


@dataclass(frozen=True, slots=True)
class Device:
    """A card, or an instance of one that is cut up.

    Attributes:
        number: NVML's own number of the card; it changes when another card is lost.
        instance: Number of the instance on it; None for a whole card.
        uuid: None when even that could not be read.
    """

    number: int
    instance: int | None
    uuid: str | None


@dataclass(frozen=True, slots=True)
class Handles:
    """What NVML wants to be asked by.

    Attributes:
        own: Of the device: memory, name, processes.
        board: Of the card it is on: sensors, bus, display.
    """

    own: Any
    board: Any


class Cards:
    """All devices seen since the start; the position is the index everyone else uses."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._devices: tuple[Device, ...] = ()

    def list_anew(self, nvml: Any) -> tuple[tuple[Device, bool], ...]:
        """Return all devices ever seen, each with whether it is there now.

        Raises:
            NVMLError: the driver does not even count.
        """
        count = min(number_of(nvml.nvmlDeviceGetCount()) or 0, MOST_CARDS)
        found = [device for number in range(count) for device in self._on(nvml, number)]
        known = list(self._devices)
        present: set[int] = set()
        for device in found:
            place = _place(known, device, present)
            if place == len(known):
                known.append(device)
            known[place] = device
            present.add(place)
        self._devices = tuple(known)
        return tuple((device, place in present) for place, device in enumerate(known))

    def device(self, index: int) -> Device:
        """Return the device at an index; before the first listing the card of that number."""
        if index < len(self._devices):
            return self._devices[index]
        return Device(index, None, None)

    def handles(self, nvml: Any, index: int) -> Handles | None:
        """Return what to ask a device by; None, and `lost` says so where it is, when there is nothing."""
        device = self.device(index)
        own = self._handle(nvml, index, device)
        if own is None or device.instance is None:
            return None if own is None else Handles(own, own)
        board = self._answers.value(
            nvml,
            index,
            "card of the instance",
            lambda: nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(own),
            lambda: nvml.nvmlDeviceGetHandleByIndex(device.number),
        )
        return None if board is None else Handles(own, board)

    def _handle(self, nvml: Any, index: int, device: Device) -> Any:
        if device.uuid is not None and hasattr(nvml, "nvmlDeviceGetHandleByUUID"):
            # never by number: after a loss that is another card
            return self._answers.value(nvml, index, "handle", lambda: self._by_uuid(nvml, index, device))
        return self._answers.value(nvml, index, "handle", lambda: _by_number(nvml, device))

    def _by_uuid(self, nvml: Any, index: int, device: Device) -> Any:
        try:
            return nvml.nvmlDeviceGetHandleByUUID(device.uuid)
        except nvml.NVMLError as reason:
            if reason.value == nvml.NVML_ERROR_NOT_FOUND:
                self._answers.lost.add(index)
            raise

    def _on(self, nvml: Any, number: int) -> Iterator[Device]:
        card = self._answers.value(nvml, None, "handle", lambda: nvml.nvmlDeviceGetHandleByIndex(number))
        if card is None:
            yield Device(number, None, None)
            return
        instances = list(self._instances(nvml, number, card)) if is_cut_up(nvml, card) else []
        yield from instances or [Device(number, None, self._uuid(nvml, card))]

    def _instances(self, nvml: Any, number: int, card: Any) -> Iterator[Device]:
        count = self._answers.value(
            nvml, None, "instances", lambda: nvml.nvmlDeviceGetMaxMigDeviceCount(card)
        )
        for instance in range(min(number_of(count) or 0, MOST_INSTANCES)):
            try:
                handle = nvml.nvmlDeviceGetMigDeviceHandleByIndex(card, instance)
            except Exception:  # noqa: BLE001  # this place is empty, however the driver says so
                continue
            yield Device(number, instance, self._uuid(nvml, handle))

    def _uuid(self, nvml: Any, handle: Any) -> str | None:
        return text(self._answers.value(nvml, None, "uuid", lambda: nvml.nvmlDeviceGetUUID(handle)))


def is_cut_up(nvml: Any, card: Any) -> bool:
    """Return whether a card is cut into instances; most cannot be, and say so by an error."""
    try:
        return bool(nvml.nvmlDeviceGetMigMode(card)[0] == 1)
    except Exception:  # noqa: BLE001  # of any shape: it says nothing
        return False


def _by_number(nvml: Any, device: Device) -> Any:
    card = nvml.nvmlDeviceGetHandleByIndex(device.number)
    if device.instance is None:
        return card
    return nvml.nvmlDeviceGetMigDeviceHandleByIndex(card, device.instance)


def _place(known: list[Device], device: Device, taken: set[int]) -> int:
    """Return where a device belongs: where its name is, else where a nameless one of its number was."""
    free = [place for place in range(len(known)) if place not in taken]
    for place in free:
        if device.uuid is not None and known[place].uuid == device.uuid:
            return place
    for place in free:
        same_number = (known[place].number, known[place].instance) == (device.number, device.instance)
        if same_number and (device.uuid is None or known[place].uuid is None):
            return place
    return len(known)
