"""The results of runs in the form that reports show. `run_view` has the data, and `phrases` has the sentences."""
