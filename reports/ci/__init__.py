"""Formats that CI systems read.

Read in this order: `findings` collects the findings, which `junit`, `sarif` and `github` write; `markdown` and
`suite_json` write results.
"""
