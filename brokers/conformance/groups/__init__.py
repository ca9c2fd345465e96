"""Check recordings of consumer groups.

`reading` selects the requests about a group and numbers its members and partitions, `subscription` reads what consumers
send to their leader, and `told` compares requests with what their consumer was told. `classic` and `consumer` convert
the requests of the two protocols to observations, and `check` checks these against the specs of releases.
"""
