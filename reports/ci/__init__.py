"""Formats that CI systems read.

Read in this order: `findings` are what `junit`, `sarif` and `github` write; `markdown` and `suite_json` write results.
"""
