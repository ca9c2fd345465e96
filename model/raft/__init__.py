"""The `quorum` family of specs: KRaft's quorum, the Raft of the controllers' metadata log.

Read in this order: `state`; `protocols`, which defines the rules, and `rules`, the table of rules with their sources;
`elections`, `replication`; `actions`, which has messages, time-outs and perturbations; `releases`. `mistakes` defines
deliberately wrong rules, and `drawing` and `explanation` describe states and traces.
"""
