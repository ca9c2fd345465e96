"""The results of runs for reports: `run_view` has the data, `phrases` the sentences, `json_report` the JSON."""
