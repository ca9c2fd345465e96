"""Replication with requests and responses in flight: nothing that the articles speak of is hidden.

Read in this order: `state` and `messages` say what there is; `protocols` what the four protocols do
differently; then one file for each concern: `controller`, `leadership` (what a broker does when it is told
who leads), `produce`, `fetch`, `isr`, `high_watermark`, `truncation`, `consume`, `crash`. `actions` lists
all that can happen.
"""
