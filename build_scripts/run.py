"""Starts Moxie from a fresh checkout: `python3 build_scripts/run.py` (`py build_scripts\\run.py`).

The first start makes everything Moxie needs; later ones take seconds. This file runs on any Python 3, so
that an old one gets a sentence; the work is in `launch.py`.

Options: --no-build (do not build the worker in the background), --setup-only (do not start anything).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036 whoever has an older one shall read why
        sys.exit(
            "Moxie needs Python 3.11 or newer, and this is Python %d.%d. Install a newer one from python.org."  # noqa: UP031 old Python
            % sys.version_info[:2]
        )
    from build_scripts.launch import main

    sys.exit(main(sys.argv[1:]))
