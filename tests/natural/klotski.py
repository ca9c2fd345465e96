"""The sliding puzzle Klotski: a set of sets of positions.

Source: github.com/tlaplus/Examples, specifications/SlidingPuzzles/SlidingPuzzles.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from leadline.checker import Spec, action, invariant

Position = tuple[int, int]
Piece = frozenset[Position]

WIDTH, HEIGHT = 4, 5
POSITIONS = frozenset((x, y) for x in range(WIDTH) for y in range(HEIGHT))
START = frozenset({
    frozenset({(0, 0), (0, 1)}),
    frozenset({(1, 0), (2, 0), (1, 1), (2, 1)}),
    frozenset({(3, 0), (3, 1)}),
    frozenset({(0, 2), (0, 3)}),
    frozenset({(1, 2), (2, 2)}),
    frozenset({(3, 2), (3, 3)}),
    frozenset({(1, 3)}),
    frozenset({(2, 3)}),
    frozenset({(0, 4)}),
    frozenset({(3, 4)}),
})  # fmt: skip


@frozen
class Puzzle:
    board: frozenset[Piece] = START


@action("a piece moves by {direction}", direction=[(1, 0), (0, 1), (-1, 0), (0, -1)])
def move(puzzle: Puzzle, direction: Position) -> Iterator[Puzzle]:
    taken = frozenset(position for piece in puzzle.board for position in piece)
    empty = POSITIONS - taken
    moved = set[Piece]()
    for x, y in empty:
        beside = (x + direction[0], y + direction[1])
        if beside in taken:
            moved |= {piece for piece in puzzle.board if beside in piece}
    for piece in moved:
        after = frozenset((x - direction[0], y - direction[1]) for x, y in piece)
        if after <= (POSITIONS - taken) | piece:
            yield Puzzle((puzzle.board - {piece}) | {after})


@invariant("all positions are on the board")
def type_ok(puzzle: Puzzle) -> bool:
    return all(piece <= POSITIONS for piece in puzzle.board)


@invariant("the large piece is not at the exit")
def goal(puzzle: Puzzle) -> bool:
    return frozenset({(1, 3), (1, 4), (2, 3), (2, 4)}) not in puzzle.board


spec = Spec(name="klotski", initial_states=lambda _: [Puzzle()], actions=[move], properties=[type_ok, goal])
