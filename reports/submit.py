"""The script to give `spark-submit` instead of the command: ``spark-submit reports/submit.py explore SPEC ...``."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# a script's folder is where Python looks first, and this one has modules that are called as Python's own, such as html
sys.path[:] = [str(HERE.parent), *(place for place in sys.path if Path(place).resolve() != HERE)]

from reports.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
