"""The `group` family of specs: consumer groups.

`bounds`, `perturbed`, `offsets`, `actions` and `rules` define what protocols share. `classic` is the classic protocol,
and `consumer` that of KIP-848. `releases` has the columns of both.

Read either in this order: `state`; `protocols`, which defines the rules, and `rules`, the table of rules with their
sources; `assignors`; `coordinator`, which handles requests; the `reconciliation` of `consumer`; `actions`, which has
what consumers send, time-outs, and perturbations. `mistakes` defines deliberately wrong rules, and `drawing` and
`explanation` describe states and traces.
"""
