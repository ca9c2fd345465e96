"""Reports for people and CI systems, and the command line.

Read in this order: `loading` finds specs, and `suite`, `matrix`, `bugs` and `answers` read files of searches. `runs`
and `traces` describe results and traces for all views, `mutation` and `audit` those of mutants and of disks.
`terminal`, `html` and `ci` are the views, and `formats` lists those for files. `explorer` serves pages, `testing` is
for test suites, and `cli` has the commands.
"""
