"""The results of runs, in the form that reports show. `run_view` contains the data, and `phrases` contains the
sentences.
"""
