"""What an engine is told, line by line, and how that differs from another plan."""

import difflib
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.engine.llama_server_args import option_arguments
from app.engine.llama_server_capabilities import read_capabilities, server_executable
from app.engine.spec import EngineSpec
from app.options import EngineOptions

KEPT, ADDED, REMOVED = " ", "+", "-"
_SWITCH: Final = re.compile(r"--?[A-Za-z]")


def command_lines(spec: EngineSpec, path: Path, options: EngineOptions) -> tuple[str, ...]:
    """Return what an engine is told to load a model with: a switch and its values each.

    The built-in engine has no command line: its options by name. Address, port and key of a server are left
    out. Asks a pack for its switches the first time: blocks.

    Raises:
        FindingError: the pack does not say what it knows, or a value cannot be told to it.
    """
    if spec.pack_folder is None:
        told = {name: value for name, value in options.to_json().items() if value not in ([], "")}
        return tuple(f"{name} = {_shown(value)}" for name, value in told.items())
    executable = server_executable(spec.pack_folder)
    arguments = option_arguments(options, read_capabilities(executable))
    lines = [[executable.name], ["--model", os.fspath(path)]]
    for word in arguments:
        if _SWITCH.match(word):
            lines.append([word])
        else:
            lines[-1].append(word)
    return tuple(shlex.join(line) for line in lines)


def line_changes(before: Sequence[str], after: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return all lines in order, each with `KEPT`, `ADDED` or `REMOVED`; what goes is before what comes."""
    changes: list[tuple[str, str]] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            changes += [(KEPT, line) for line in before[start:end]]
        else:
            changes += [(REMOVED, line) for line in before[start:end]]
            changes += [(ADDED, line) for line in after[new_start:new_end]]
    return tuple(changes)


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
