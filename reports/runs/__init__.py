"""The results of runs, in the form that reports show.

`run_view` provides the data, `phrases` the sentences, and `json_report` the JSON objects.
"""
