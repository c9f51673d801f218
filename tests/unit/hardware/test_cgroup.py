"""Limits of control groups, read from trees of both versions."""

from pathlib import Path

import pytest

from app.hardware.cgroup import ControlGroups, MemoryLimit

GIB = 1024**3
V1_UNLIMITED = "9223372036854771712"


class GroupTree:
    """A /sys/fs/cgroup and a /proc/self/cgroup of our own."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "cgroup"
        self.membership = folder / "membership"

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="ascii")

    def groups(self, *lines: str) -> ControlGroups:
        self.membership.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return ControlGroups(self.root, self.membership)


@pytest.fixture
def tree(tmp_path: Path) -> GroupTree:
    return GroupTree(tmp_path)


def test_version_2_gives_what_is_left_with_page_cache_counted_as_free(tree: GroupTree) -> None:
    tree.write("app/memory.max", str(8 * GIB))
    tree.write("app/memory.current", str(6 * GIB))
    tree.write("app/memory.stat", f"anon {GIB}\ninactive_file {3 * GIB}\nactive_file {GIB}\nshmem 5")
    assert tree.groups("0::/app").memory_limit() == MemoryLimit(8 * GIB, 6 * GIB)


def test_a_limit_of_a_group_above_counts_too(tree: GroupTree) -> None:
    tree.write("a/memory.max", str(4 * GIB))
    tree.write("a/memory.current", str(GIB))
    tree.write("a/b/memory.max", "max")
    assert tree.groups("0::/a/b").memory_limit() == MemoryLimit(4 * GIB, 3 * GIB)


def test_the_group_with_the_least_left_decides(tree: GroupTree) -> None:
    tree.write("a/memory.max", str(8 * GIB))
    tree.write("a/memory.current", str(7 * GIB))
    tree.write("a/b/memory.max", str(4 * GIB))
    tree.write("a/b/memory.current", str(GIB))
    assert tree.groups("0::/a/b").memory_limit() == MemoryLimit(8 * GIB, GIB)


def test_version_1_without_a_limit_has_none(tree: GroupTree) -> None:
    tree.write("memory/docker/x/memory.limit_in_bytes", V1_UNLIMITED)
    tree.write("cpu/docker/x/cpu.cfs_quota_us", "-1")
    tree.write("cpu/docker/x/cpu.cfs_period_us", "100000")
    groups = tree.groups("4:memory:/docker/x", "2:cpu,cpuacct:/docker/x", "0::/")
    assert groups.memory_limit() is None
    assert groups.cpu_quota() is None


def test_version_1_limits_memory_and_cpu(tree: GroupTree) -> None:
    tree.write("memory/docker/x/memory.limit_in_bytes", str(2 * GIB))
    tree.write("memory/docker/x/memory.usage_in_bytes", str(GIB))
    tree.write("memory/docker/x/memory.stat", f"total_inactive_file {GIB // 2}\ninactive_file 1")
    tree.write("cpu,cpuacct/docker/x/cpu.cfs_quota_us", "150000")
    tree.write("cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000")
    groups = tree.groups("4:memory:/docker/x", "2:cpu,cpuacct:/docker/x", "0::/")
    assert groups.memory_limit() == MemoryLimit(2 * GIB, GIB * 3 // 2)
    assert groups.cpu_quota() == 1.5


def test_inside_a_container_the_hosts_path_falls_back_to_the_root(tree: GroupTree) -> None:
    tree.write("memory/memory.limit_in_bytes", str(2 * GIB))
    tree.write("memory/memory.usage_in_bytes", "0")
    assert tree.groups("4:memory:/docker/0123").memory_limit() == MemoryLimit(2 * GIB, 2 * GIB)


def test_the_smallest_cpu_quota_on_the_way_up_counts(tree: GroupTree) -> None:
    tree.write("a/cpu.max", "200000 100000")
    tree.write("a/b/cpu.max", "300000 100000")
    tree.write("a/b/c/cpu.max", "max 100000")
    assert tree.groups("0::/a/b/c").cpu_quota() == 2.0


def test_a_group_over_its_limit_has_nothing_left_and_not_less(tree: GroupTree) -> None:
    tree.write("memory.max", str(GIB))
    tree.write("memory.current", str(2 * GIB))
    assert tree.groups("0::/").memory_limit() == MemoryLimit(GIB, 0)


@pytest.mark.parametrize("line", ["", "nonsense", "0::/../..", "x:y", "0::relative"])
def test_odd_memberships_give_no_limits(tree: GroupTree, line: str) -> None:
    groups = tree.groups(line)
    assert groups.memory_limit() is None
    assert groups.cpu_quota() is None


def test_without_control_groups_there_are_no_limits(tmp_path: Path) -> None:
    groups = ControlGroups(tmp_path / "none", tmp_path / "none either")
    assert groups.memory_limit() is None
    assert groups.cpu_quota() is None
