"""Reports for people and CI systems, and the command line.

Read in this order: `loading` finds specs, and `suite`, `matrix`, `bugs` and `answers` read files that describe
searches. `runs` and `traces` describe results and traces for all views. `mutation` describes the results of mutation
tests, and `audit` those of disk audits. `terminal`, `html` and `ci` are the views, and `formats` lists the file
formats. `explorer` serves web pages, `testing` has assertions for test suites, and `cli` contains the commands.
"""
