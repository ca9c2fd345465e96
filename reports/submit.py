"""The script to run with `spark-submit`, as in ``spark-submit reports/submit.py explore SPEC``."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
_SOURCE = HERE.parent / "src"  # in the repository; an installation has a folder `leadline`
_ROOT = _SOURCE if _SOURCE.is_dir() else HERE.parents[1]
# Python searches a script's folder first, and this one has modules with names of the standard library, such as html
sys.path[:] = [str(_ROOT), *(place for place in sys.path if Path(place).resolve() != HERE)]

from leadline.reports.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
