"""The result of a run, as reports show it: `run_view` has the data, `phrases` the sentences, `json_report` the JSON."""
