"""What `spark-submit` is given in the place of the command: ``spark-submit reports/submit.py explore SPEC ...``."""

from reports.cli import main

if __name__ == "__main__":
    main()
