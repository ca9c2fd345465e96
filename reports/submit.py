"""The script to give `spark-submit` instead of the command: ``spark-submit reports/submit.py explore SPEC ...``."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
_SOURCE = HERE.parent / "src"  # in the repository; what is installed lies in a folder `leadline`
_ROOT = _SOURCE if _SOURCE.is_dir() else HERE.parents[1]
# a script's folder is where Python looks first, and this one has modules that are called as Python's own, such as html
sys.path[:] = [str(_ROOT), *(place for place in sys.path if Path(place).resolve() != HERE)]

from leadline.reports.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
