"""Which engine a worker process is to run."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class BackendKind(StrEnum):
    """The adapters behind `Backend`."""

    LLAMA = "llama"
    LLAMA_SERVER = "llama-server"
    ECHO = "echo"


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """One engine as the person sees it.

    Attributes:
        name: As `moxie engines list` shows it and `--engine` takes it: `worker`, `echo`, or a pack's name.
        pack_folder: The folder with `llama-server`; None for the others.
        environment: Variables its process gets beside those of `processes/environment.py`.
    """

    name: str
    backend: BackendKind
    pack_folder: Path | None = None
    environment: tuple[tuple[str, str], ...] = ()

    def worker_arguments(self) -> list[str]:
        """Return what follows `--engine-worker` on the worker's command line."""
        arguments = ["--backend", self.backend.value]
        if self.pack_folder is not None:
            arguments += ["--pack-folder", str(self.pack_folder)]
        return arguments
