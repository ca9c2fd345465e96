"""The `kafka` family of specs, in which brokers exchange requests and responses, as in Kafka's releases.

Read the modules in this order. `bounds`, `messages`, `broker` and `state` define the state. `protocols` defines the
rules as functions, with who decides them (`parties`), `rules` is the table of rules with their sources, and `releases`
lists the rules of each release. `mixes` puts two releases into one cluster.
Then there is one module for each concern: `controller`, `leadership` (reactions of brokers to a new leader epoch),
`produce`, `follower` (truncation, and the next request), `fetch`, `truncation`, `epochs`, `isr`, `high_watermark`,
`consume` and `crash`. Finally, `actions` lists every action, `readings` contains disputed interpretations of the rules,
`mistakes` defines deliberately wrong rules, and `drawing` describes states for diagrams and tables.
"""
