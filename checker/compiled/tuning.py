"""Tuning: sizes that decide how fast the compiled engine is, and how much of its work it checks."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class Tuning:
    """Sizes of the compiled engine. The defaults are right for every spec; tests use smaller ones.

    Attributes:
        block: states that each thread expands between two checks of the limits.
        chunks: chunks of a block per thread; an idle thread takes the next one.
        alone: with fewer states than this, a second thread is not worth waking.
        asked: unknown paths of a chunk that are learned before its compiled loop continues.
        waiting: states of a chunk that wait for them.
        pays: states of a block that want a path for it to be learned in any case.
        always: calls of each action instance and property that are recorded in any case.
        many_values: a part of the state that takes this many values is taken apart, if it can be.
        searched_again: with more states expanded than this, a search is not started again to take parts apart.
        compared_calls: one recorded call of a predicate in this number is compared with a call on the states
            themselves; 0: none.
        compared_paths: states of a block, before it is expanded, in which paths to compare are looked for.
        compared_states: states of a level on which everything known is compared.
        made_again, made_again_later: calls that may depend on the identity of objects are repeated on equal objects:
            this many calls, and after them one in this number.
        shared: fewer calls than this are not worth sharing with other processes.
        helped_after: calls after which a search is worth another process.
        renewed_after: calls that the other processes could not make, as they did not know a value, after which new
            ones are forked.
    """

    block: int = 32_768
    chunks: int = 4
    alone: int = 2_000
    asked: int = 64
    waiting: int = 1024
    pays: int = 6
    always: int = 40
    many_values: int = 32
    searched_again: int = 100_000
    compared_calls: int = 8
    compared_paths: int = 64
    compared_states: int = 3
    made_again: int = 1000
    made_again_later: int = 8
    shared: int = 8
    helped_after: int = 500
    renewed_after: int = 300


DEFAULT = Tuning()
