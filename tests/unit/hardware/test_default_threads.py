"""How many threads a plan takes: the fast physical cores that this process may use, and no more."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from app.hardware import host as host_source
from app.hardware.cgroup import ControlGroups
from app.hardware.facts import HardwareFacts
from app.hardware.host import PsutilHostSource
from app.hardware.topology import Core, read_linux_cores
from app.planner.facts import Wishes
from app.planner.plan import plan_offload
from app.planner.report import budget_from
from tests.planner_models import moe_facts

SIXTEEN = tuple(Core(frozenset((i, i + 16))) for i in range(16))
HYBRID = (
    *(Core(frozenset((2 * i, 2 * i + 1))) for i in range(8)),
    *(Core(frozenset((16 + i,)), is_performance=False) for i in range(8)),
)


def planned_threads(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    cores: Sequence[Core],
    affinity: Sequence[int] | None = None,
    cpu_max: str | None = None,
) -> int:
    """Return the threads of a plan on a machine with these cores, as the real source sees it."""
    group = folder / "groups" / "moxie"
    group.mkdir(parents=True, exist_ok=True)
    if cpu_max is not None:
        (group / "cpu.max").write_text(cpu_max + "\n", encoding="ascii")
    (folder / "membership").write_text("0::/moxie\n", encoding="ascii")
    count = sum(len(core.cpus) for core in cores)
    monkeypatch.setattr(host_source, "_cores", lambda: tuple(cores))
    monkeypatch.setattr(host_source, "_affinity", lambda: affinity)
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: count if logical else len(cores))
    groups = ControlGroups(folder / "groups", folder / "membership")
    host = PsutilHostSource(groups).host()
    ample = replace(host, ram_total_bytes=2**37, ram_available_bytes=2**36)
    return plan_offload(moe_facts(), budget_from(HardwareFacts(ample)), Wishes()).options.n_threads


@pytest.mark.parametrize(
    ("cores", "affinity", "cpu_max", "threads"),
    [
        (SIXTEEN, None, None, 16),  # two threads of a core are one
        (SIXTEEN, range(32), None, 16),
        (SIXTEEN, (0, 16, 1, 17), None, 2),
        (SIXTEEN, (0, 1, 2), None, 3),
        (SIXTEEN, None, "600000 100000", 6),
        (SIXTEEN, None, "650000 100000", 6),  # more threads than time are only throttled
        (SIXTEEN, None, "50000 100000", 1),
        (SIXTEEN, (0, 1, 2, 3), "1600000 100000", 4),
        (SIXTEEN, None, "max 100000", 16),
        (HYBRID, None, None, 8),  # no slow core
        (HYBRID, (0, 1, 16, 17), None, 1),  # one fast core is left: slow ones would hold it up
        (HYBRID, (16, 17, 18), None, 3),  # slow cores only
        (HYBRID, None, "400000 100000", 4),
        (HYBRID, (0, 2, 4, 16), "200000 100000", 2),
    ],
)
def test_a_plan_takes_the_fast_cores_this_process_may_use(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cores: Sequence[Core],
    affinity: Sequence[int] | None,
    cpu_max: str | None,
    threads: int,
) -> None:
    assert planned_threads(monkeypatch, tmp_path, cores, affinity, cpu_max) == threads


def test_a_system_that_lists_no_cores_gives_all_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert planned_threads(monkeypatch, tmp_path, ()) == 1
    monkeypatch.undo()
    monkeypatch.setattr(host_source, "_cores", tuple)
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 12 if logical else 6)
    cpu = PsutilHostSource(ControlGroups(tmp_path / "no", tmp_path / "no")).host().cpu
    assert (cpu.physical_cores, cpu.usable_cores, cpu.usable_performance_cores) == (6, 6, 6)


@pytest.mark.parametrize("text", ["0-999999999999", "9" * 5000, "0,5-1,x,-,7-", "0-3\x00", "²", "٣"])
def test_a_list_of_cpus_that_no_machine_has_takes_neither_memory_nor_the_answer(
    tmp_path: Path, text: str
) -> None:
    folder = tmp_path / "system" / "cpu"
    folder.mkdir(parents=True)
    (folder / "online").write_text(text, encoding="utf-8")
    assert len(read_linux_cores(tmp_path)) <= 8


@pytest.mark.parametrize("text", ["9" * 5000 + " 100000", "1 0", "nan", "\x00", "² ³"])
def test_a_quota_that_is_no_number_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "groups").mkdir()
    (tmp_path / "groups" / "cpu.max").write_text(text, encoding="utf-8")
    (tmp_path / "groups" / "memory.max").write_text("9" * 5000, encoding="ascii")
    (tmp_path / "membership").write_text("0::/\n", encoding="ascii")
    groups = ControlGroups(tmp_path / "groups", tmp_path / "membership")
    assert groups.cpu_quota() is None
    assert groups.memory_limit() is None
