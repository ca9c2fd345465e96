"""The grammar of random programs: expressions by type, statements, and what actions write.

Each line is a rule. A hole is ``$type``, or ``$type(V:type)`` where a name of that type is bound. ``$!type`` is a
variable of the same function, which may be assigned again; ``$@type`` one of any function around, which may be changed
in place. Capital letters from ``A`` to ``F`` and from ``T`` to ``Z`` stand for names that are not used elsewhere.

Every expression has a value, and members of sets hash alike in every process.
"""

from __future__ import annotations

FIELDS = {
    "numbers": "iset",
    "others": "iset",
    "pairs": "pairs",
    "msgs": "msgs",
    "sets": "isets",
    "bag": "bag",
    "cells": "seq",
    "marks": "marks",
    "rows": "isets",
    "procs": "procs",
    "best": "optional",
    "log": "seq",
}
"""The fields that a state may have, and the type of each. It has some of them, and always ``numbers`` and ``out``."""

DECLARED = {
    "numbers": "frozenset[int] = frozenset()",
    "others": "frozenset[int] = frozenset()",
    "pairs": "frozenset[tuple[int, int]] = frozenset()",
    "msgs": "frozenset[Message] = frozenset()",
    "sets": "frozenset[frozenset[int]] = frozenset()",
    "bag": "Bag[int] = Bag()",
    "cells": "tuple[int, ...] = component(default=(0, 0, 0))",
    "marks": "tuple[int | None, ...] = component(default=(0, 0))",
    "rows": "tuple[frozenset[int], ...] = component(default=(frozenset(), frozenset()))",
    "procs": "tuple[Process, ...] = component(default=(Process(), Process()))",
    "best": "frozenset[int] | None = None",
    "log": "tuple[int, ...] = ()",
}

INITIAL = {
    "numbers": "frozenset({few})",
    "others": "frozenset({few})",
    "pairs": "frozenset({pairs})",
    "msgs": "frozenset(Message(*pair) for pair in {pairs})",
    "sets": "frozenset(map(frozenset, [{few}, {more}]))",
    "bag": "Bag({few})",
    "cells": "({small[0]}, {small[1]}, {small[2]})",
    "marks": "({marks[0]}, {marks[1]})",
    "rows": "(frozenset({few}), frozenset({more}))",
    "procs": "(Process({small[0]}, frozenset({few})), Process({small[1]}, frozenset({more})))",
    "best": "{optional}",
    "log": "tuple({few})",
}
"""Values of fields in initial states."""

WRITES = {
    "numbers": """
        frozenset(V % 4 for V in $ints)
        $S.numbers | {$int % 4}
        $S.numbers - {$int % 4}
        $S.numbers & $iset
        $S.numbers - $iset
        $S.numbers ^ {$small}
        frozenset(V for V in $S.numbers if $bool(V:int))
        """,
    "others": """
        $S.others | {$small}
        $S.others - $iset
        $S.numbers
        frozenset(V for V in $S.others if $bool(V:int))
        $S.others.union([$small])
        """,
    "pairs": """
        $S.pairs | {($small, $small)}
        frozenset(V for V in $S.pairs if $bool(V:pair))
        $S.pairs - {$pair}
        frozenset((V % 3, W % 3) for V, W in $pairs)
        """,
    "msgs": """
        $S.msgs | {Message($small % 2, $small)}
        frozenset(V for V in $S.msgs if $bool(V:msg))
        $S.msgs - {$msg}
        $S.msgs.difference(V for V in $S.msgs if $bool(V:msg))
        """,
    "sets": """
        frozenset(frozenset(W % 3 for W in V) for V in $isets)
        frozenset([frozenset($small for _ in $ints)])
        frozenset(V for V in $S.sets if $bool(V:iset))
        $S.sets | {$S.numbers}
        """,
    "bag": """
        Bag([V % 3 for V in $seq][:2])
        $S.bag.add($small) if $S.bag.total() < 3 else Bag()
        Bag.of({V % 3: 1 for V in $ints})
        """,
    "cells": """
        (*$S.cells[:1], $small, *$S.cells[2:])
        $S.cells[::-1]
        tuple(sorted($S.cells))
        tuple($small if V == $small else W for V, W in enumerate($S.cells))
        put($S.cells, $small, $small)
        """,
    "marks": """
        (*$S.marks[1:], $small)
        $S.marks[::-1]
        (None if $bool else $small, *$S.marks[1:])
        """,
    "rows": """
        ($S.rows[0] | {$small}, *$S.rows[1:])
        (*$S.rows[:1], $S.rows[1] - $iset)
        $S.rows[::-1]
        tuple(frozenset(W % 3 for W in V if $bool(W:int)) for V in $S.rows)
        """,
    "procs": """
        (evolve($S.procs[0], n=$small), *$S.procs[1:])
        (*$S.procs[:1], evolve($S.procs[1], seen=$S.procs[1].seen | {$small}))
        tuple(evolve(V, seen=V.seen - {$small}) if $bool(V:proc) else V for V in $S.procs)
        tuple(sorted($S.procs, key=lambda V: (V.n, sorted(V.seen))))
        """,
    "best": """
        None
        frozenset(V % 3 for V in $ints)
        $S.numbers
        """,
    "log": """
        (*$S.log, $small)[-2:]
        tuple(V % 3 for V in $seq)[:3]
        """,
    "out": """
        $int % 4
        $int % 3
        $int % 4
        len($coll) % 4
        """,
}
"""What actions write."""

RULES = {
    "small": """
        0
        1
        2
        3
        $int % 3
        """,
    "int": """
        $int + $int
        $int - $int
        $int % 7 * $small
        $int % 3
        -$int
        abs($int)
        min($int, $int)
        $int if $bool else $int
        int($bool)
        len($coll)
        sum($ints)
        max($ints, default=$int)
        min($ints, default=1)
        $pair[0]
        $pair[1]
        $S.out
        next((V for V in $ints if $bool(V:int)), $int)
        next(iter($coll), 2)
        sum(V for V in $ints if $bool(V:int))
        sum(V for V in $ints if V > $small and $bool(V:int))
        sum($int(V:int) for V in $ints)
        sum(1 for V in $ints if $bool(V:int))
        sum([V for V in $coll if V != $small])
        sum(V * W for V, W in $pairs)
        sum(V[0] for V in $pairs if $bool(V:pair))
        sum(V for V, W in $pairs if W == $small)
        sum(V.n for V in $msgs if $bool(V:msg))
        sum(V.n for V in $msgs if V.kind == $small)
        max((V.n for V in $msgs if V.kind == $int), default=0)
        max((V.n for V in $msgs if V.n > $small and $bool(V:msg)), default=1)
        max($ints, key=lambda V: $int(V:int) % 3, default=1)
        min($ints, key=lambda V: ($int(V:int) % 3, V), default=1)
        min($msgs, key=lambda V: V.n, default=Message(0, 1)).kind
        (sorted($ints) or [0])[0]
        (sorted($ints, reverse=True) or [1])[-1]
        (sorted($pairs) or [(0, 1)])[0][1]
        functools.reduce(lambda V, W: $int(V:int, W:int) % 5, $ints, $int)
        functools.reduce(operator.add, $ints, 0)
        {V: W for V, W in $pairs}.get($int, $int)
        dict($pairs).get($int, 0)
        dict.fromkeys($ints, 1).get($int, 0)
        $dict.get($int, 0)
        sum($dict.values())
        $bag[$int]
        $bag.total()
        sum(V * W for V, W in $bag.items())
        sum(V for V in $bag if $bool(V:int))
        sum(W for V, W in $bag.items() if V > $small)
        sum($bag[V] for V in $bag if V != $small)
        $msg.n
        $msg.kind
        $msg.double
        $msg.plus($int)
        $proc.n
        $proc.size
        len($proc.seen)
        $proc.most($int)
        sum(V.n for V in $procs if $bool(V:proc))
        sum(len(V.seen) for V in $procs)
        (lambda V=$int: V + 1)()
        (lambda V: $int(V:int))($int)
        (lambda V: $int(V:iset))($iset)
        len({$int(V:int) for V in $ints})
        len([V for V in $ints if $bool(V:int)])
        len(list(zip($ints, $ints)))
        sum(V * W for V, W in enumerate(sorted($ints)))
        sum(V for V, W in zip($ints, $ints))
        sum(len(V) for V in $isets)
        sum(max(V, default=0) for V in $isets if $bool(V:iset))
        sum(V for W in $isets for V in W if V > $small)
        [*$ints, $int][0]
        ($seq or [1])[-1]
        sum($seq[1:])
        sum($seq[::2])
        sum(map(lambda V: $int(V:int), $ints))
        len(list(filter(lambda V: $bool(V:int), $ints)))
        sum(itertools.chain($ints, $ints))
        sum(1 for V, W in itertools.product($ints, $ints) if V < W)
        sum(1 for V in $ints for W in $ints if $bool(V:int, W:int))
        sum(1 for V in $ints if $bool(V:int) for W in $isets if V in W)
        sum(1 for V in $isets if $int in V)
        sum(1 for V in $marks if V is None)
        sum(V for V in $marks if V is not None)
        collections.Counter($ints)[$int]
        collections.Counter(V.kind for V in $msgs)[$small]
        len(str(sorted($ints)))
        len(f'{sorted($ints)}')
        (W := $int) + W % 2
        sum((W := V) for V in $ints if V < $small)
        """,
    "bool": """
        $int == $int
        $int < $int
        $int != $small
        $int <= $int
        $int > $small
        $int in $coll
        $int not in $coll
        $small in $iset
        $int in (0, 2)
        0 < $int < 3
        $pair in $pairs
        $pair[0] == $small
        $pair < $pair
        $iset == $iset
        $iset <= $iset
        $iset < $iset
        $iset >= {$small}
        $iset != $iset
        $iset.isdisjoint($ints)
        $iset.issubset($ints)
        $iset.issuperset($ints)
        $bool and $bool
        $bool or $bool
        not $bool
        any($bool(V:int) for V in $ints)
        all($bool(V:int) for V in $ints)
        any([$bool(V:int) for V in $ints])
        any(V == $int for V in $ints)
        any(V.n == $int and V.kind != $small for V in $msgs)
        all($bool(V:msg) for V in $msgs)
        any($bool(V:pair) for V in $pairs)
        any(V == $small and $bool(W:int) for V, W in $pairs)
        any($bool(V:int) for W in $isets for V in W)
        any($bool(V:iset) for V in $isets)
        all($bool(V:proc) for V in $procs)
        bool($coll)
        not $coll
        frozenset($ints) in $isets
        $iset in $isets
        $int in $dict
        $msg in $msgs
        Message($small % 2, $small) in $msgs
        Message($small % 2, $small) not in $msgs
        $msg.kind == $small
        $msg.n > $small
        $msg == $msg
        $bag == $bag
        $small in $bag
        len($coll) > $small
        isinstance($int, int)
        list($seq) == list($seq)
        sorted($ints) == sorted($ints)
        $marks[0] is None
        any(V is None for V in $marks)
        $optional is None
        $optional is not None
        None in $marks
        $proc.n == $small
        $proc.has($int)
        $proc == $proc
        """,
    "iset": """
        frozenset($ints)
        set($ints)
        {V for V in $ints if $bool(V:int)}
        frozenset(V for V in $ints if $bool(V:int))
        {$int(V:int) for V in $ints}
        $iset | $iset
        $iset & $iset
        $iset - $iset
        $iset ^ $iset
        $iset | {$small}
        $iset - {$small}
        {$small} | $iset
        $iset.union($ints)
        $iset.union($ints, $ints)
        $iset.difference($ints)
        $iset.intersection($ints)
        $iset.symmetric_difference($ints)
        $iset.copy()
        {$int, $int}
        frozenset({$int})
        $iset if $bool else $iset
        frozenset().union(*$isets)
        set().union(*$isets)
        functools.reduce(operator.or_, $isets, frozenset())
        functools.reduce(lambda V, W: V | W, $isets, frozenset())
        {V for W in $isets for V in W if $bool(V:int, W:iset)}
        {V for V, W in $pairs if $bool(V:int, W:int)}
        {V for V, W in $pairs if W == $small}
        {V.n for V in $msgs if $bool(V:msg)}
        {V.kind for V in $msgs if V.n > $small}
        $proc.seen
        next((V for V in $isets if $bool(V:iset)), frozenset())
        max($isets, key=len, default=frozenset())
        min($isets, key=lambda V: ($int(V:iset), sorted(V)), default=$iset)
        set($dict)
        $optional or frozenset({1})
        {*$coll, *$ints}
        set($bag)
        frozenset($pair)
        (lambda V: $iset(V:iset))($iset)
        """,
    "own": """
        $S.numbers | {$small}
        $S.numbers - {$small}
        """,
    "seq": """
        list($ints)
        tuple($ints)
        sorted($ints)
        [$int, $int]
        [*$seq, $int]
        $seq[1:]
        $seq[::-1]
        [$int(V:int) for V in $ints]
        [V for V in $ints if $bool(V:int)]
        list(dict.fromkeys($ints))
        [V for V in $ints if V != $small][:2]
        [V.n for V in $procs]
        """,
    "coll": """
        $iset
        $iset
        $iset
        $seq
        $bag
        $dict
        """,
    "ints": """
        $iset
        $iset
        $iset
        $iset
        $iset
        $seq
        $bag
        $pair
        $dict
        range($int % 4)
        [V for V in $ints if $bool(V:int)]
        (V for V in $ints if $bool(V:int))
        map(lambda V: $int(V:int), $ints)
        reversed(sorted($ints))
        iter($coll)
        itertools.chain($ints, $ints)
        $dict.values()
        """,
    "pair": """
        ($int, $int)
        min($pairs, default=(0, 1))
        max($pairs, default=(1, 0))
        next((V for V in $pairs if $bool(V:pair)), (1, 0))
        next(iter($pairs), (0, 0))
        max($pairs, key=lambda V: V[1], default=(0, 2))
        """,
    "pairs": """
        [(V, $int(V:int)) for V in $ints]
        {(V, W) for V in $iset for W in $iset if $bool(V:int, W:int)}
        [V for V in $pairs if $bool(V:pair)]
        {V for V in $pairs if V[0] == $small}
        sorted($pairs)
        $dict.items()
        $bag.items()
        list(zip($ints, $ints))
        list(enumerate($ints))
        {*$pairs, $pair}
        """,
    "msg": """
        Message($small % 2, $small)
        next((V for V in $msgs if $bool(V:msg)), Message(0, 0))
        max($msgs, key=lambda V: (V.n, V.kind), default=Message(1, 1))
        evolve($msg, n=$small)
        """,
    "msgs": """
        {V for V in $msgs if $bool(V:msg)}
        [V for V in $msgs if V.kind == $small]
        sorted($msgs, key=lambda V: (V.kind, V.n))
        {Message(V % 2, W % 3) for V, W in $pairs}
        {*$msgs, $msg}
        """,
    "proc": """
        $procs[0]
        $procs[$int % 2]
        $procs[-1]
        next((V for V in $procs if $bool(V:proc)), Process())
        evolve($proc, n=$small)
        evolve($proc, seen=frozenset($ints))
        Process($small)
        max($procs, key=lambda V: V.n)
        """,
    "procs": """
        [$proc, $proc]
        $procs[::-1]
        (Process(1, frozenset($ints)), Process($small))
        """,
    "isets": """
        [V.seen for V in $procs]
        [$iset, $iset]
        {frozenset($iset), frozenset($ints)}
        [V for V in $isets if $bool(V:iset)]
        sorted($isets, key=len)
        [V - {$small} for V in $isets]
        {*map(frozenset, $isets)}
        """,
    "marks": """
        (None, $small)
        [V for V in $marks if V is not None] + [None]
        [*$marks, $small]
        """,
    "optional": """
        None
        $iset
        $iset if $bool else None
        """,
    "bag": """
        Bag($seq)
        $bag.add($small)
        Bag(V for V in $ints if $bool(V:int))
        Bag.of({V: 1 for V in $ints})
        """,
    "dict": """
        {V: $int(V:int) for V in $ints}
        {V: W for V, W in $pairs if $bool(V:int, W:int)}
        dict($pairs)
        dict.fromkeys($ints, $int)
        dict($bag)
        collections.Counter($ints)
        {**$dict, $int: $int}
        """,
}
"""Expressions by type. ``S`` is a state, ``ints`` can be iterated over once, ``coll`` has a length, ``own`` is a set
of a state."""

LEAVES = {
    "bag": "Bag([1, 1])",
    "bool": "True",
    "coll": "(1, 2)",
    "dict": "{1: 2}",
    "int": "1",
    "ints": "(0, 2)",
    "iset": "{1}",
    "isets": "[{1}]",
    "marks": "(None, 1)",
    "msg": "Message(0, 1)",
    "msgs": "[Message(1, 2)]",
    "optional": "None",
    "own": "{0, 1}",
    "pair": "(1, 0)",
    "pairs": "[(0, 1)]",
    "proc": "Process(1)",
    "procs": "[Process(), Process(2)]",
    "seq": "[2, 0]",
    "small": "2",
}
"""An expression of each type without holes, for where nothing else fits."""

SHOWN = {
    "bool": "{}",
    "int": "{}",
    "iset": "len({} & {{0, 2}})",
    "mdict": "sum({}.values())",
    "mlist": "sum({})",
    "mset": "sum({})",
}
"""A number in which a variable shows, by its type."""

STATEMENTS = """+ V:int
V = $int
for V in $own:
    if V == $small:
        break
---
+ X:int
V = X = 0
for V in $own:
    if V == $small:
        break
else:
    X = V
---
+ X:int
X = V = 0
for V in $own:
    if V > $small:
        X += 1
X += V
---
+ X:int
X = 0
for V in (5, 6):
    for V in $own:
        if V == $small:
            X += 1
    X += V
---
+ X:int
X = V = 0
while X < 2:
    for V in $own:
        if V == $small:
            X += 2
    X += 1
    X += V
---
+ X:int
X = V = 0
for V in $own:
    if V != $small:
        continue
    X += V
X += V
---
+ X:mset
X = set()
merge(X, $own)
---
+ X:int
X = $small
for V in $own:
    if V != X:
        X += V
---
+ X:int
X = 3
for V in $own:
    if V < X:
        X -= 2
---
+ X:int
Y = []
for V in $own:
    if V < $small:
        Y.append(lambda: V)
X = sum(F() for F in Y)
---
+ X:mset
X = {$small}
F = X
F |= $own
---
+ X:int
X = 0
for V in $own:
    if V in $own:
        X += V
---
+ X:int
X = sum(V for V in $own if V > $small)
---
+ X:int
X = len([V for V in $own if V in $own])
---
+ X:bool
X = any(V == $small for V in $own)
---
+ X:bool
X = all(V < $int for V in $own)
---
+ X:bool
X = $small in $own
---
+ X:iset
X = $own
---
+ X:iset
X = $own
X |= $own
---
+ X:iset
X = {V for V in $own if V not in $own}
---
+ X:int
X = $int
---
+ X:iset
X = $iset
---
+ X:mset
X = set($ints)
---
+ X:mset
X = set()
---
+ X:mlist
X = list($ints)[:4]
---
+ X:mdict
X = {V: $int(V:int) for V in $ints}
---
+ X:int Y:int
X, Y = $pair
---
+ X:mset
X = $@mset
---
+ X:iset
X = $@mset
---
+ X:iset
X = $iset
X |= $iset
---
+ X:iset
X = frozenset()
for V in $ints:
    if $bool(V:int):
        X |= {V}
---
+ X:iset
X = set()
for V in $isets:
    X |= V
---
$!int += $int
---
$!int -= $int
---
$!int = $int
---
$!iset |= $iset
---
$!iset &= $iset
---
$!iset -= $iset
---
$!iset ^= $iset
---
$!mset |= $iset
---
$!mset -= $iset
---
$!mset &= $iset
---
$!mset ^= $iset
---
$@mset.add($int)
---
$@mset.discard($int)
---
$@mset.update($ints, $ints)
---
$@mset.difference_update($ints)
---
$@mset.intersection_update($ints)
---
$@mset.symmetric_difference_update($ints)
---
$@mlist.append($int)
---
$@mlist.extend(list($ints)[:2])
---
$!mlist += list($ints)[:2]
---
$@mlist.sort()
---
del $@mlist[2:]
---
$@mlist[1:] = list($ints)[:3]
---
$@mdict[$int] = $int
---
$@mdict.update($dict)
---
$@mdict.setdefault($int, $int)
---
$!mdict |= $dict
---
$@mdict.pop($int, 0)
---
+ X:int
X = $@mset.pop() if $@mset else 1
---
+ Y:iset
X = {0: set(), 1: set($ints)}
X[$int % 2] |= $iset
X[0] -= $iset
Y = X[$int % 2]
---
+ Y:mset
X = {}
for V in $ints:
    X.setdefault(V % 2, set()).add($int(V:int))
Y = X.get($int % 2, set())
---
+ Y:mset
X = Holder(set())
Y = X.items
X.items |= $iset
$block
---
+ Y:iset
X = Holder($iset)
X.items |= $iset
X.items -= {$small}
Y = X.items
---
+ Y:mset
class T:
    items = set()
T.items |= $iset
Y = T.items
---
for V in $ints:
    $block(V:int)
---
+ V:int
V = $int
for V in $ints:
    $block(V:int)
---
+ V:int
V = $int
for V in $own:
    if $bool(V:int):
        $block(V:int)
---
+ V:int
V = $int
for V in $own:
    if V == $small:
        break
    if V > $int:
        $block(V:int)
---
+ X:int
X = 0
for V in $ints:
    if $bool(V:int):
        X = $int(V:int)
        break
else:
    X = $int
---
+ X:int
V = X = 0
for V in $own:
    if $bool(V:int):
        break
else:
    X = V
---
+ X:int
X = 0
for V in $own:
    if V == $small:
        continue
    X += $int(V:int)
---
for V in $ints:
    if $bool(V:int):
        continue
    $block(V:int)
---
+ X:int
X = 0
for V in $own:
    if V < $small:
        continue
    if V == $int:
        X += $int(V:int)
---
+ X:int
X = 0
for V in $own:
    for V in $own:
        if V == $small:
            X += 1
    X += V
---
+ X:int
X = 0
for V in (5, 6):
    for V in $own:
        if V > $small:
            X += 1
    X += V
---
+ X:int
X = 0
for V in $own:
    if V > X:
        X = V
---
+ X:int
X = 0
for V in $own:
    if V != X:
        X += 1
---
for V, W in $pairs:
    $block(V:int, W:int)
---
for V, W in $pairs:
    if W == $small:
        $block(V:int, W:int)
---
for V in $pairs:
    if $bool(V:pair):
        $block(V:pair)
---
for V in $msgs:
    $block(V:msg)
---
for V in $msgs:
    if V.kind == $small and $bool(V:msg):
        $block(V:msg)
    elif V.n > $small:
        $block(V:msg)
---
for V in $msgs:
    if V.n != $int:
        continue
    $block(V:msg)
---
for V in $isets:
    $block(V:iset)
---
for V in $isets:
    for W in V:
        if W == $small:
            $block(V:iset, W:int)
---
for V in $procs:
    $block(V:proc)
---
for V, W in enumerate($procs):
    $block(V:int, W:proc)
---
for V in $own:
    if $bool(V:int):
        return $R(V:int)
---
for V in $msgs:
    if V.kind == $small:
        return $R(V:msg)
---
if $bool:
    return $R
---
for T in range(3):
    $block(T:int)
    if $bool:
        break
---
+ X:int
X = 0
while X < 3 and $int(X:int) > $small:
    X += 1
---
+ X:mset
X, W = {0}, True
for T in range(3):
    W = False
    for V in $own:
        if V in X or V - 1 in X:
            W = W or V not in X
            X.add(V)
    if not W:
        break
---
if $bool:
    $block
---
if $bool:
    $block
else:
    $block
---
if $bool:
    $block
elif $bool:
    $block
---
+ X:int
def F(A, B=$int):
    $function(A:int, B:int)
    return $int(A:int, B:int)
X = F($int) + F($int, B=$int)
---
+ X:int
def F(A, B):
    $function(A:iset, B:int)
    return $int(A:iset, B:int)
X = F($iset, $int)
---
+ X:iset
def F(A):
    $function(A:iset)
    return $iset(A:iset)
X = F($iset)
---
def F(A, B):
    A |= B
F($@mset, $iset)
---
def F(A, B):
    A -= B
    A ^= $iset(B:iset)
F($@mset, $iset)
---
+ X:mset
def F(A, *B):
    for V in B:
        A |= V
    return A
X = set($ints)
F(X, $iset, $iset)
---
def F(A, B):
    for V in B:
        if $bool(V:int):
            A.add($int(V:int))
F($@mset, $iset)
---
merge($@mset, $iset)
---
+ X:int
X = total_of($ints)
---
+ X:mset
X = functools.reduce(operator.ior, $isets, set())
---
+ X:mset
X = set($ints)
operator.isub(X, $iset)
---
+ X:int Y:int
X = 0
def F(A):
    nonlocal X
    X += $int(A:int)
    return X
Y = sum(F(V) for V in $ints if V > X)
---
+ X:int Y:int
X = $int
def F(A):
    nonlocal X
    X = $int(A:int) % 4
    return X > 1
Y = len([V for V in $ints if F(V) and V != X])
---
+ X:int
def F(A, B):
    if A <= 0 or not B:
        return $int
    return $int(A:int, B:iset) + F(A - 1, {V for V in B if $bool(V:int)})
X = F(2, $iset)
---
+ X:mlist
def F(A):
    for V in A:
        if $bool(V:int):
            yield $int(V:int)
X = list(F($ints))
---
+ X:int
def F(A):
    for V in A:
        if V > $small:
            yield V
            $function(V:int)
X = next(F($iset), 0)
---
+ X:int
def F(A):
    yield from A
    yield $int
X = sum(F($iset))
---
+ X:int
match $pair:
    case (0, V):
        X = $int(V:int)
    case (V, W) if $bool(V:int, W:int):
        X = $int(V:int, W:int)
    case _:
        X = $int
---
+ X:int
match $msg:
    case Message(kind=0, n=V):
        X = $int(V:int)
    case Message(1, 2):
        X = $int
    case _:
        X = 1
---
+ X:int
match $int:
    case 0 | 1:
        X = $int
    case V:
        X = $int(V:int)
---
+ X:int
match $seq:
    case [V, *W]:
        X = $int(V:int, W:seq)
    case _:
        X = 2
---
+ X:int
match $optional:
    case None:
        X = $int
    case V:
        X = $int(V:iset)
---
+ X:int
X = $int
try:
    $block
    X = $int
finally:
    X += 1
---
+ X:int
try:
    X = 6 // ($int % 3)
except ZeroDivisionError:
    X = $int
---
+ X:int
Y = [lambda V=W: $int(V:int) for W in $ints]
X = sum(F() for F in Y)
---
+ X:int
Y = [lambda: V for V in $ints]
X = sum(F() for F in Y)
---
+ X:int
Y = []
for V in $own:
    if V > $small:
        Y.append(lambda: V)
X = sum(F() for F in Y)
---
+ X:mlist
Y = $int
T = (V for V in $iset if V >= Y)
Y = $int
X = list(T)
---
+ X:mlist
Y = {1}
T = (V for V in $iset if V in Y)
Y.add($int)
X = list(T)
---
+ X:int
Y = iter($iset)
X = next(Y, 0) + sum(Y)
---
+ X:int
Y = set($ints)
X = 0
while Y:
    X += Y.pop() % 2
---
+ X:int
if (X := $int) > 1:
    $block(X:int)
---
+ X:int Y:mlist
X = 0
Y = [(X := V) for V in $ints if V != X]
---
+ X:state
X = evolve($S, numbers=frozenset(V % 4 for V in $ints))
---
+ X:state
X = evolve($S, numbers=$S.numbers | {$small}, out=$small)
---
+ X:state
X = evolve($S, numbers=$S.numbers - $iset)
---
+ X:mset Y:mset
X = Y = set()
---
+ X:int Y:mlist
X, *Y = [*$ints, 0]
---
+ X:mlist
X = sorted($ints, key=lambda V: ($int(V:int) % 2, V))
---
+ X:int
X = 0
for V, W in zip(sorted($iset), $seq):
    X += V * W
---
+ X:int
X = 0
for V in $own:
    if V == $small: X += 1
    else: X += 2
---
+ X:int
X = 0
for V in list($S.numbers):
    if V in $iset and V > $small:
        X += $int(V:int)
---
+ X:int
X = len([V for V in $iset if V == $small or V > $int])
---
+ X:iset
X = {V for V in $iset if not V == $small}
---
assert $bool or True
"""
"""Statements. A first line with ``+`` declares variables that later statements may use; ``$block`` is one to three
statements, and ``$function`` the same in a function of its own; ``$R`` is what the function returns."""
