"""Replication with requests and responses in flight, as the articles describe it.

Read in this order: `bounds`, `messages`, `broker` and `state` define the state. `protocols` has the rules as
functions, `rules` is the table of them with sources, and `releases` says which release has which. Then there is one
file for each concern: `controller`, `leadership` (how a broker reacts to a new leader epoch), `produce`, `follower`
(how it truncates and what it sends next), `fetch`, `truncation`, `epochs`, `isr`, `high_watermark`, `consume`,
`crash`. `actions` lists every action. `readings` has disputed readings of the rules, `mistakes` wrong rules, and
`drawing` describes states for views.
"""
