"""The lock files cover what `pyproject.toml` declares, with hashes, for every supported Python."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from build_scripts.engine_build import VERSION as ENGINE_VERSION
from build_scripts.lock import ENGINE, LOCKS
from build_scripts.steps import ROOT

ENTRY = re.compile(r"^(?P<requirement>[a-z0-9][^\\]*?) \\\n(?P<hashes>(?:    --hash=.*\n?)+)", re.MULTILINE)
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = ("linux", "win32")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def lock_text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def locked(name: str, python: str, platform: str) -> dict[str, str]:
    """Return package -> version as pip on that Python would install it."""
    environment = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": platform}
    environment["platform_python_implementation"] = "CPython"
    versions: dict[str, str] = {}
    for match in ENTRY.finditer(lock_text(name)):
        requirement = Requirement(match["requirement"])
        if requirement.marker is None or requirement.marker.evaluate(environment):
            assert requirement.name not in versions, f"{requirement.name} twice on {python}"
            (specifier,) = requirement.specifier
            assert specifier.operator == "=="
            versions[canonicalize_name(requirement.name)] = specifier.version
    return versions


def declared(name: str) -> list[Requirement]:
    lines: list[str] = [*PROJECT["dependencies"]]
    for extra in LOCKS[name]:
        lines += PROJECT["optional-dependencies"][extra]
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", LOCKS)
def test_every_declared_package_is_locked_within_its_range(name: str, python: str, platform: str) -> None:
    versions = locked(name, python, platform)
    for requirement in declared(name):
        package = canonicalize_name(requirement.name)
        if package == ENGINE:
            assert package not in versions
        else:
            assert requirement.specifier.contains(versions[package]), package


@pytest.mark.parametrize("name", LOCKS)
def test_every_entry_has_hashes_and_no_address(name: str) -> None:
    content = lock_text(name)
    entries = list(ENTRY.finditer(content))
    lines = [line for line in content.splitlines() if line and not line.startswith(("#", " "))]
    assert len(entries) == len(lines) > 0
    assert "://" not in content
    assert "--index" not in content


@pytest.mark.parametrize("python", PYTHONS)
def test_qt_is_the_long_term_release_where_that_exists(python: str) -> None:
    version = locked("requirements.lock", python, "linux")["pyside6-essentials"]
    if python == "3.14":
        assert version.startswith("6.11.")
        assert version not in ("6.11.0", "6.11.1")
    else:
        assert version == "6.8.3"


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_the_larger_locks_never_change_a_version_of_the_smaller(python: str, platform: str) -> None:
    runtime = locked("requirements.lock", python, platform)
    for name in ("requirements-worker.lock", "requirements-test.lock"):
        larger = locked(name, python, platform)
        assert {package: larger.get(package) for package in runtime} == runtime


def test_the_worker_lock_has_what_its_engine_imports() -> None:
    versions = locked("requirements-worker.lock", "3.11", "linux")
    assert {"numpy", "jinja2", "diskcache", "typing-extensions"} <= set(versions)


def test_the_engine_that_is_built_is_the_one_declared() -> None:
    assert PROJECT["optional-dependencies"]["worker"] == [f"{ENGINE}=={ENGINE_VERSION}"]
