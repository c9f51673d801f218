"""Runs the quick checks only, no test: `python3 build_scripts/check.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036 whoever has an older one shall read why
        sys.exit("The checks need Python 3.11 or newer.")
    from build_scripts.verify import check_main

    sys.exit(check_main())
