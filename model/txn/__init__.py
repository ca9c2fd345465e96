"""The `txn` family of specs: transactions of one transactional id, and what consumers can read from them.

A producer, the transaction coordinator and the leaders of partitions exchange requests, which may arrive late. The
replication of the partitions is not part of this family: a partition has one log, and a high watermark.

Read the modules in this order. `bounds`, `messages`, `partition` and `state` define the state. `protocols` defines the
rules, `rules` is the table of rules with their sources, and `releases` lists the rules of each release of brokers and
of clients. Then there is one module for each concern: `producer` (the requests that a producer sends, and how it
handles responses), `coordinator`, `append` (writing records and markers to a partition), `delivery` (requests that
arrive in time or late), `failures`, and `consume`. Finally, `actions` lists every action, `mistakes` defines
deliberately wrong rules, and `drawing` and `explanation` describe states and traces.
"""
