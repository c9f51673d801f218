"""Builds what the tests need, then runs every check and test: `python3 build_scripts/test.py`.

pytest's own closing line comes last. The first run builds the worker's engine and takes some minutes.
Arguments are passed on to pytest.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036 whoever has an older one shall read why
        sys.exit("The tests need Python 3.11 or newer.")
    from build_scripts.verify import main

    sys.exit(main(sys.argv[1:]))
