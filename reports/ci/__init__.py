"""Formats that CI systems read.

Read the modules in this order: `findings` collects the findings. `junit`, `sarif` and `github` write the findings.
`markdown` and `suite_json` write results.
"""
