"""Cores from trees as Linux shows them: hyper-threads, kinds of cores, affinity and quota."""

from pathlib import Path

import pytest

from app.hardware.topology import (
    Core,
    efficiency_core_count,
    performance_core_count,
    read_linux_cores,
    usable_core_count,
    usable_performance_core_count,
)


class SysTree:
    """A /sys/devices of our own."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="ascii")

    def cores(self, *siblings: str) -> None:
        """Write one core per text, which lists its logical CPUs."""
        for text in siblings:
            for cpu in text.replace("-", ",").split(","):
                self.write(f"system/cpu/cpu{cpu}/topology/core_cpus_list", text)


@pytest.fixture
def sys_tree(tmp_path: Path) -> SysTree:
    return SysTree(tmp_path)


def test_two_threads_of_a_core_are_one_core(sys_tree: SysTree) -> None:
    sys_tree.write("system/cpu/online", "0-3")
    sys_tree.cores("0,2", "1,3")
    assert read_linux_cores(sys_tree.root) == (Core(frozenset((0, 2))), Core(frozenset((1, 3))))


def test_an_intel_hybrid_tells_its_fast_cores_by_device(sys_tree: SysTree) -> None:
    sys_tree.write("system/cpu/online", "0-7")
    sys_tree.cores("0-1", "2-3", "4", "5", "6", "7")
    sys_tree.write("cpu_core/cpus", "0-3")
    sys_tree.write("cpu_atom/cpus", "4-7")
    cores = read_linux_cores(sys_tree.root)
    assert (len(cores), performance_core_count(cores)) == (6, 2)


def test_an_arm_board_tells_its_fast_cores_by_capacity(sys_tree: SysTree) -> None:
    sys_tree.write("system/cpu/online", "0-5")
    for cpu in range(6):
        sys_tree.cores(str(cpu))
        sys_tree.write(f"system/cpu/cpu{cpu}/cpu_capacity", "1024" if cpu >= 4 else "400")
    assert performance_core_count(read_linux_cores(sys_tree.root)) == 2


def test_dense_cores_are_told_by_their_clock(sys_tree: SysTree) -> None:
    sys_tree.write("system/cpu/online", "0-3")
    for cpu, clock in enumerate((5_100_000, 5_000_000, 3_300_000, 3_300_000)):
        sys_tree.cores(str(cpu))
        sys_tree.write(f"system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq", str(clock))
    assert performance_core_count(read_linux_cores(sys_tree.root)) == 2


def test_favoured_cores_of_one_kind_are_all_fast(sys_tree: SysTree) -> None:
    sys_tree.write("system/cpu/online", "0-1")
    for cpu, clock in enumerate((5_800_000, 5_400_000)):
        sys_tree.cores(str(cpu))
        sys_tree.write(f"system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq", str(clock))
    assert performance_core_count(read_linux_cores(sys_tree.root)) == 2


def test_switched_off_cpus_do_not_count(sys_tree: SysTree) -> None:
    sys_tree.write("system/cpu/online", "0,2-3")
    sys_tree.cores("0-1", "2-3")
    assert [core.cpus for core in read_linux_cores(sys_tree.root)] == [{0}, {2, 3}]


def test_a_kernel_before_5_2_has_the_older_name(sys_tree: SysTree) -> None:
    sys_tree.write("system/cpu/online", "0-1")
    for cpu in (0, 1):
        sys_tree.write(f"system/cpu/cpu{cpu}/topology/thread_siblings_list", "0-1")
    assert len(read_linux_cores(sys_tree.root)) == 1


def test_without_a_tree_the_cores_are_unknown_and_not_zero(tmp_path: Path) -> None:
    cores = read_linux_cores(tmp_path)
    assert cores == ()
    assert performance_core_count(cores) is None
    assert usable_core_count(cores, [0], None) is None


EIGHT_CORES = tuple(Core(frozenset((i, i + 8))) for i in range(8))


@pytest.mark.parametrize(
    ("affinity", "quota", "usable"),
    [
        (None, None, 8),
        (range(16), None, 8),
        ((0, 8), None, 1),
        ((0, 1, 2), None, 3),
        (None, 2.5, 2),
        (None, 0.5, 1),
        ((0, 1), 4.0, 2),
        ((), None, None),
    ],
)
def test_usable_cores_are_those_of_the_affinity_within_the_quota(
    affinity: tuple[int, ...] | None, quota: float | None, usable: int | None
) -> None:
    assert usable_core_count(EIGHT_CORES, affinity, quota) == usable


HYBRID = (
    *(Core(frozenset((2 * i, 2 * i + 1))) for i in range(6)),
    *(Core(frozenset((12 + i,)), False) for i in range(8)),
)


def test_slow_cores_are_counted_and_none_where_there_is_one_kind() -> None:
    assert efficiency_core_count(HYBRID) == 8
    assert efficiency_core_count(HYBRID[:6]) == 0
    assert efficiency_core_count(()) is None


@pytest.mark.parametrize(
    ("affinity", "quota", "expected"),
    [
        (None, None, 6),
        (range(8), None, 4),
        (range(20), 2.5, 2),
        (range(10, 20), None, 1),
        (range(12, 20), None, 8),  # slow ones only
    ],
)
def test_of_the_fast_cores_those_count_that_a_process_may_use(
    affinity: range | None, quota: float | None, expected: int
) -> None:
    assert usable_performance_core_count(HYBRID, affinity, quota) == expected


def test_of_unknown_cores_nothing_is_said_about_fast_ones() -> None:
    assert usable_performance_core_count((), range(4), None) is None
