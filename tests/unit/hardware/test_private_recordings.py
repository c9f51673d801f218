"""Nothing that names a person, a computer or one single part is in a recording, wherever it was said."""

import json
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from app.findings import FindingCode, warning
from app.hardware.engine_facts import EngineBuildFacts, EngineDevice
from app.hardware.facts import DiskInfo, GpuInfo, HardwareFacts, RuntimeFacts
from app.hardware.pseudonyms import PersonalNames
from app.hardware.raw_answers import RawAnswers
from app.hardware.recording import Recording, read_recording, save_recording
from app.hardware.speeds import StorageSpeed
from tests.fakes import FAKE_HOST, GIB

LETTERS = st.characters(categories=("Lu", "Ll", "Lo", "Nd"))
NAMES = st.text(LETTERS, min_size=5, max_size=14).map(lambda text: f"Q{text}z")
"""Begin and end with letters that no word of ours around them has together."""

SERIALS = st.text("0123456789ABCDEF", min_size=10, max_size=16).map(lambda text: f"S{text}N")
HOMES = st.sampled_from(
    (
        "/home/{}/models/m.gguf",
        "/Users/{}/x",
        "C:\\Users\\{}\\AppData\\x",
        "/media/{}/STICK",
        "/run/media/{}/x",
    )
)


@settings(max_examples=200, deadline=None)
@given(
    user=NAMES, full_name=NAMES, machine=NAMES, label=NAMES, serial=SERIALS, home=HOMES, card=st.uuids(),
    mac=st.binary(min_size=6, max_size=6).filter(any),
)  # fmt: skip
def test_no_secret_is_in_the_bytes_of_a_recording(
    tmp_path_factory: object,
    user: str,
    full_name: str,
    machine: str,
    label: str,
    serial: str,
    home: str,
    card: object,
    mac: bytes,
) -> None:
    uuid, address, folder = f"GPU-{card}", mac.hex(":"), home.format(user)
    mount = f"/media/{user}/{label}"
    sentence = f"{full_name}: cannot read {folder} on {machine}.local ({address}, {uuid})"
    facts = HardwareFacts(
        replace(FAKE_HOST, os_version=f"Linux of {user}", disks=(DiskInfo(mount, 500 * GIB, 9 * GIB),)),
        gpus=(GpuInfo(0, "NVIDIA GeForce RTX 4060", "nvidia", uuid, "0000:01:00.0"),),
        findings=(
            warning(FindingCode.PROBE_FAILED, probe="runtime", detail=sentence),
            warning(FindingCode.DISK_ALMOST_FULL, mount=mount, free_bytes=1, total_bytes=2),
            warning(FindingCode.GPU_HIDDEN, variable="CUDA_VISIBLE_DEVICES", value=uuid, hidden=("A",)),
        ),
        runtime=RuntimeFacts(gpu_variables=(("CUDA_VISIBLE_DEVICES", f"{uuid},0"),)),
        storage_speeds=(StorageSpeed(mount, 1, 1, "direct", (), 0),),
    )
    engine = EngineBuildFacts(
        f"{user}-build",
        "cuda",
        missing_files=(folder,),
        missing_libraries=(f"{folder}.so",),
        devices=(EngineDevice("CUDA0", "NVIDIA GeForce RTX 4060"),),
    )
    raw = RawAnswers()
    raw.add("nvml", "nvmlDeviceGetSerial(0)", serial)
    raw.add("nvml", "nvmlDeviceGetUUID(0)", uuid.encode())
    raw.add("lib", f"open({folder})", {"board_serial": serial, "text": [sentence, {"deep": sentence}]})
    raw.add("lib", "fails()", None, f"OSError: {sentence}")
    names = PersonalNames((user, full_name), (machine,))
    file = Path(str(tmp_path_factory.getbasetemp())) / "m.json"  # type: ignore[attr-defined]
    save_recording(Recording(facts, engine=engine), file, raw=raw, names=names)

    text = file.read_text(encoding="utf-8")
    said = (text + json.dumps(json.loads(text), ensure_ascii=False)).lower()
    for secret in (user, full_name, machine, label, serial, uuid, str(card), address):
        assert secret.lower() not in said
    again = read_recording(file)
    save_recording(again, file, names=names)
    assert read_recording(file) == again  # doing it twice changes nothing more
