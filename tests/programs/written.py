"""Programs written by hand: ways of using loops and sets that random programs do not use, or seldom.

Each of the first group was a wrong answer once.
"""

# The programs have long lines.
# ruff: noqa: E501

from __future__ import annotations

_COMMON = """
import types

cfg = types.ModuleType("cfg")

@frozen
class State:
    numbers: frozenset[int] = frozenset()
    pairs: frozenset[tuple[int, int]] = frozenset()
    msgs: frozenset[Message] = frozenset()
    procs: tuple[Process, ...] = component(default=(Process(), Process()))
    bag: Bag[int] = Bag()
    out: int = 0

INITIALS = [
    State(frozenset({0, 2, 4}), frozenset({(0, 2)}), frozenset({Message(1, 2)}), (Process(1), Process(0, frozenset({1})))),
    State(frozenset({1, 5}), frozenset({(0, 2), (1, 0)}), frozenset({Message(0, 1)}), bag=Bag([3])),
    State(frozenset({0, 3, 5}), frozenset({(1, 0)}), bag=Bag([3, 3])),
    State(frozenset({2, 3}), bag=Bag([1, 3])),
    State(frozenset({0, 1, 2, 4, 5})),
    State(),
]

class Stop(Exception):
    pass

@action(n=range(6))
def number(s, n):
    yield evolve(s, numbers=s.numbers ^ {n})

@action(i=range(2))
def process(s, i):
    changed = Process(1 - s.procs[i].n, s.procs[i].seen ^ {i + s.procs[i].n})
    yield evolve(s, procs=(*s.procs[:i], changed, *s.procs[i + 1:]))

@action()
def add(s):
    yield evolve(s, pairs=s.pairs ^ {(0, 2)}, msgs=s.msgs ^ {Message(0, 1)}, bag=s.bag.add(1) if s.bag.total() < 2 else Bag())

@action()
def note(s):
    yield evolve(s, out=look(s) % 23)

@invariant("p")
def p(s):
    return look(s) % 7 not in (4, 6)

@step_invariant("q")
def q(before, after):
    return look(before) % 4 != 3 or look(after) % 4 != 2

"""
"""The states and steps of all programs. Each program defines the function ``look``."""

_LOOKS = """
def target_reads_itself(s):
    d = {}
    v = 0
    for v in s.numbers:
        if v == 2:
            d[9] = 1
    for d[v], v in [(1, 2), (3, 4)]:
        pass
    return sum(k * w for k, w in d.items())
def generator_that_assigns(s):
    def outer():
        lev = 5
        def inner():
            n = 0
            for v in s.numbers:
                if v != lev:
                    n += 1 + v
                    next(g)
            return n
        yield inner
        for lev in (9, 1, 8, 2, 7, 6, 6):
            yield lev
    g = outer()
    return next(g)()
def generator_that_assigns_any(s):
    def outer():
        lev = 5
        def inner():
            return sum(v + 1 for v in s.numbers if v != lev and next(g) is not None)
        yield inner
        for lev in (9, 1, 8, 2, 7, 6, 6):
            yield lev
    g = outer()
    return next(g)()
def module_attribute(s):
    cfg.LIMIT = 5
    n = 0
    for v in s.numbers:
        if v != cfg.LIMIT:
            n += v + 1
            cfg.LIMIT = v + 2
    return n
def shadowed_inner(s):
    any = lambda it: len([*it])
    return any(v > 2 for p in (0,) for v in s.numbers)
def union_bool(s):
    t = s.numbers | {True}
    return sum(1 for v in t if v is True) + 2 * len(t)
def bool_readd(s):
    t = s.numbers - {True} | {1}
    u = (s.numbers - {1}) | {True}
    return sum(1 for v in t if v is True) + 2 * sum(1 for v in u if v is True) + 4 * repr(sorted(u)).count("T")
def float_or(s):
    t = s.numbers | {2.0}
    return sum(isinstance(v, float) for v in t) + 2 * len([v for v in t if isinstance(v, float)])
def dict_ior(s):
    t = {9}
    d = {}
    d |= zip("a", map(operator.or_, [t], [s.numbers]))
    return sum(t)
def walrus_filter(s):
    last = 0
    for v in s.numbers:
        if (last := last + v) > 2:
            last -= 1
    return last
def walrus_in_any(s):
    any((hit := v) > 1 for v in s.numbers)
    return hit if s.numbers else 9
def early_exception(s):
    seen = []
    try:
        {seen.append(v) or (1 // (v - 2)) for v in s.numbers}
    except ZeroDivisionError:
        seen.append(7)
    return sum(i * v for i, v in enumerate(seen)) + len(seen)
def raise_with_member(s):
    try:
        for v in s.numbers:
            if v > 1:
                raise Stop(v)
    except Stop as stop:
        return stop.args[0] + 1
    return 0
def var_after_exception(s):
    v = 5
    try:
        for v in s.numbers:
            if v > 1:
                raise Stop
    except Stop:
        pass
    return v
def for_else_finally(s):
    v = 9
    for w in s.numbers:
        try:
            if w == 1:
                continue
        finally:
            v = w
    return v
def match_members(s):
    n = 0
    for p in s.pairs:
        match p:
            case (0, w): n += w
            case (v, 0) if v in s.numbers: n += 5 * v
            case _: n += 7
    return n
def match_set(s):
    match s.numbers:
        case frozenset() as b if len(b) > 2: return len(b)
        case set(): return 8
        case b if 1 in b: return 4
        case _: return 0
def match_proc(s):
    match s.procs:
        case (Process(n=1, seen=x), Process(n=n)) if x <= s.numbers: return n + len(x) + 3
        case (_, Process(seen=y)): return sum(y)
def gen_effects(s):
    log = []
    total = sum(log.append(v) or v for v in s.numbers if v != 1 and not log)
    return total * 3 + len(log)
def gen_effects_all(s):
    log = []
    all((log.append(v), v < 2)[1] for v in s.numbers)
    return sum(log) + len(log)
def star_unpack(s):
    first, *rest = [*sorted(s.numbers), *s.pairs, 5]
    return len(rest) + (first if isinstance(first, int) else 6)
def star_call(s):
    return (lambda *a, **k: len(a) + sum(k.values()))(*s.numbers, **{str(v): v for v in s.numbers if v > 1})
def comp_scopes(s):
    v = 2
    a = [v for v in s.numbers if v > 1]
    b = {w: v for w in s.numbers if w == v}
    return sum(a) + sum(b.values())
def min_key(s):
    return min(s.numbers, key=lambda v: ((v + 1) % 4, v), default=7)
def sorted_key_effect(s):
    calls = []
    sorted(s.numbers, key=lambda v: calls.append(v) or -v)
    return sum(calls)
def nonlocal_filter(s):
    level = 0
    def up(v):
        nonlocal level
        level = v
        return True
    return sum(v + 1 for v in s.numbers if v != level and up(v + 1))
def class_body(s):
    class T:
        box = s.numbers
        n = len([v for v in box if v > 1])
        for v in box:
            if v == 1: break
        else:
            v = 6
    return T.n + T.v
def class_attr_default(s):
    class T:
        total = set()
        def add(self, part):
            self.total |= part
    T().add(s.numbers)
    t = T.total
    return sum(t)
def reduce_ior(s):
    total = {9}
    functools.reduce(operator.ior, [s.numbers, s.procs[0].seen], total)
    return len(total)
def reduce_lambda(s):
    return functools.reduce(lambda a, v: a if v == 1 else a * 2 + v, s.numbers, 1)
def groupby(s):
    return sum(k * len([*g]) for k, g in itertools.groupby(sorted(s.numbers), key=lambda v: v // 2))
def groupby_pairs(s):
    return sum(1 for k, g in itertools.groupby(sorted(s.pairs), key=operator.itemgetter(0)) if any(b == 2 for _, b in g))
def dict_view_ops(s):
    d = {1: 0, 2: 0}
    return len(d.keys() | s.numbers) + 3 * len(d.keys() & s.numbers) + 7 * len(d.keys() ^ s.numbers) + (d.keys() <= s.numbers) + len(s.numbers - d.keys()) + len(s.numbers & d.keys())
def dict_items_ops(s):
    return len(dict(s.pairs).items() & s.pairs) + 3 * len(dict(s.pairs).items() ^ {(1, 0)})
def tuple_of_sets(s):
    return ((s.numbers, 1) == (frozenset({1, 2}), 1)) + 2 * ((s.numbers, s.pairs) == (s.procs[0].seen, frozenset())) + 4 * ((1, s.numbers) < (1, {0, 1, 2}))
def tuple_lt_sets(s):
    return ((s.numbers,) < (s.procs[0].seen | {0, 1},)) + 2 * ([s.numbers] <= [{1, 2, 3}]) + 4 * (max([s.numbers, {1}]) == {1})
def slices(s):
    a, b = s.procs[::-1]
    c = s.procs[1:][0]
    d = s.procs[slice(0, 1)]
    return len(a.seen) + 2 * len(b.seen) + 4 * (c == a) + 8 * d[0].n
def alias_attr(s):
    class H: pass
    h = H()
    h.x = t = set()
    h.x |= s.numbers
    h.x &= {0, 1, 3}
    return sum(t)
def alias_item(s):
    t = set()
    d = [t]
    d[0] |= s.numbers
    d[0] ^= s.procs[1].seen
    return sum(t)
def frozen_in_place(s):
    t = s.numbers
    t |= {7}
    u = s.numbers
    u -= {1}
    return sum(t) - sum(s.numbers) + sum(u)
def iter_twice(s):
    it = iter(s.numbers)
    n = next(it, 4)
    return n + sum(v for v in it if v > 1)
def zip_longest(s):
    return sum((a if a is not None else 3) * (b if b is not None else 4) for a, b in itertools.zip_longest(s.numbers, s.procs[0].seen))
def takewhile(s):
    return sum(itertools.takewhile(lambda v: v != 2, s.numbers)) + 3 * sum(itertools.dropwhile(lambda v: v < 2, s.numbers))
def filter_contains(s):
    return sum(filter(s.numbers.__contains__, (0, 2, 3)))
def map_method(s):
    return sum(map(s.numbers.__contains__, range(4))) + 5 * sum(map(s.numbers.union({5}).issuperset, [{5}, {1, 5}]))
def unbound(s):
    return len(frozenset.union(s.numbers, {7})) + len(frozenset.__or__(frozenset({1}), s.numbers))
def sum_start(s):
    return sum(([v] for v in s.numbers if v != 0), [8])[-1]
def bag_get(s):
    return s.bag.get(3, 0) + 4 * (3 in s.bag.keys()) + 8 * ((3, 1) in s.bag.items()) + sum(s.bag.values())
def default_arg(s):
    fs = []
    for v in s.numbers:
        if v > 0:
            def f(v=v): return v
            fs.append(f)
    return sum(f() for f in fs)
def late_lambda(s):
    fs = []
    for v in s.numbers:
        if v < 2:
            fs.append(lambda: v)
    return sum(f() for f in fs)
def except_name(s):
    v = 0
    for v in s.numbers:
        if v == 3:
            try:
                raise Stop
            except Stop as v:
                n = 1
    try:
        return v + 1
    except UnboundLocalError:
        return 10
def del_after(s):
    n = 0
    for v in s.numbers:
        if v > 1:
            n += v
    try:
        del v
    except UnboundLocalError:
        n += 50
    return n
def rebinding_by_match(s):
    n = 0
    lim = 1
    for v in s.numbers:
        if v >= lim:
            n += v
            match [v + 1]:
                case [*lim]: lim = lim[0] + 1
    return n
def rebinding_by_walrus_in_comp(s):
    n = 0
    lim = 1
    for v in s.numbers:
        if v >= lim:
            n += sum([(lim := w) for w in (v + 2,)])
    return n
def rebinding_by_class(s):
    n = 0
    lim = 1
    for v in s.numbers:
        if v != lim:
            n += v
            class lim: pass
    return n
def mutable_in_cond(s):
    lims = [1]
    n = 0
    for v in s.numbers:
        if v != lims[0]:
            n += v + 1
            lims[0] = v + 1
    return n
def yield_in_loop(s):
    lim = [0]
    def g():
        for v in s.numbers:
            if v != cur:
                yield v
    cur = 0
    n = 0
    for v in g():
        n += v
        cur = v + 1
    return n
def yield_in_genexp(s):
    cur = 0
    g = (v for v in s.numbers if v != cur)
    n = 0
    for v in g:
        n += v
        cur = v + 1
    return n
def shadowed_any(s):
    any = lambda it: sum(1 for _ in it) > 1
    return any(v > 0 for v in s.numbers)
def bool_set_and(s):
    t = {True, 2.0} & s.numbers
    return sum(1 for v in t if type(v) is int) + 5 * len(t)
def dict_key(s):
    return {frozenset({1}): 5, frozenset(): 2}.get(s.numbers, 0) + {s.numbers: 3}.get(frozenset({0, 3}), 0)
def evolve_filter(s):
    t = evolve(s, numbers=frozenset(v + 1 for v in s.numbers if v not in s.procs[0].seen))
    return sum(v for v in t.numbers if v != 2)
def recursion(s):
    def f(left, acc):
        if not left: return acc
        v = min(left)
        return f(left - {v}, acc * 2 + (v in s.procs[1].seen))
    return f(s.numbers, 1)
def star_target(s):
    n = 0
    for a, *b in s.pairs:
        if a == 1: n += len(b) + b[0]
        else: n += 9
    return n
def tail_target(s):
    v = [0, 0]
    for v[0] in s.numbers:
        if v[0] == 1: v[1] += 1
    return v[0] + 5 * v[1]
def attr_target(s):
    class T: x = 0
    for T.x in s.numbers:
        if T.x == 1: break
    return T.x
def inner_def_uses_later(s):
    def f(): return v
    v = 0
    for v in s.numbers:
        if v == 1: pass
    return f()
def cond_index_error(s):
    T = (2, 0, 1)
    n = 0
    try:
        for v in s.numbers:
            if T[v] == 0: n += 1 + v
    except IndexError:
        n += 20
    return n
def bool_intersection(s):
    t = {True, 7}.intersection(s.numbers)
    return sum(1 for v in t if v is True) + 2 * len(t)
def bool_update(s):
    t = {True}
    t.update(s.numbers)
    t |= s.numbers
    return sum(1 for v in t if v is True) + 2 * len(t)
def bag_true(s):
    t = s.bag.add(True)
    return sum(1 for v in t if v is True) + 2 * t[1] + 4 * len(t)
def gen_var_param(s):
    def g(lim):
        for v in s.numbers:
            if v != lim:
                lim2 = yield v
                if lim2 is not None: lim = lim2
    it = g(0)
    n = 0
    try:
        x = next(it)
        while 1:
            n = 2 * n + x
            x = it.send(x + 1)
    except StopIteration:
        return n
def class_cell(s):
    class A:
        def f(self):
            n = 0
            for __class__ in s.numbers:
                if __class__ > 1: n += __class__
            return n
    return A().f()
def loop_var_in_fstring(s):
    v = 1
    for v in s.numbers:
        if v == 4: break
    return int(f"{v:>3}") + int(f"{1:{v or 1}}")
def loop_var_in_slice_store(s):
    v = 1
    l = [0] * 7
    for v in s.numbers:
        if v == 4: break
    l[v] = 1
    l[:v] = []
    return len(l) + l.index(1) if 1 in l else 20
def loop_var_in_match_guard(s):
    v = 1
    for v in s.numbers:
        if v == 4: break
    match 3:
        case x if x == v: return 5
        case _: return 6
def loop_in_while(s):
    v, n = 1, 0
    while n < 2:
        n += 1
        if v == 3: return 7 + n
        for v in s.numbers:
            if v == 4: break
    return n
def loop_same_var_nested(s):
    n = 0
    for v in (1, 2):
        for v in s.numbers:
            if v == 4: n += 1
        for w in (0,):
            n += v
    return n
def comprehension_iter_reads(s):
    v = 1
    for v in s.numbers:
        if v == 4: break
    return sum([v for v in (v, v + 1)]) + sum([w for v in (1,) for w in (v,)])
def lambda_shadow_default(s):
    v = 1
    for v in s.numbers:
        if v == 4: break
    return (lambda x=v, *, v=2: x + v)()
def reassigned_state_in_body(s):
    n = 0
    t = s
    for v in s.numbers:
        if v + 1 not in t.numbers:
            n += v + 1
            t = evolve(t, numbers=t.numbers | {v + 2})
    return n
def attr_state_in_body(s):
    class H: pass
    h = H(); h.t = s
    n = 0
    for v in s.numbers:
        if v + 1 not in h.t.numbers:
            n += v + 1
            h.t = evolve(h.t, numbers=h.t.numbers | {v + 2})
    return n
def tuple_holding_list(s):
    t = ([0],)
    n = 0
    for v in s.numbers:
        if v != t[0][0]:
            n += v + 1
            t[0][0] = v + 1
    return n
def set_comp_exc(s):
    def f(v):
        if v == 3: raise Stop(v)
        return v
    try:
        return len({f(v) for v in s.numbers if v > 1})
    except Stop as e:
        return 10 + e.args[0]
def stop_iteration_from_loop(s):
    def g():
        for v in s.numbers:
            if v > 2: return v * 2
            yield v
    def h():
        r = yield from g()
        yield 10 if r is None else r
    return sum(h())
def changed_in_loop(s):
    least, n = 1, 0
    for v in s.numbers:
        if v != least:
            n += v + 1
            least = 5
    return n
def changed_by_closure(s):
    least, n = 1, 0
    def change(number):
        nonlocal least
        least = number
    for v in s.numbers:
        if v != least:
            n += v + 1
            change(5)
    return n
def match_mapping(s):
    match dict.fromkeys(s.numbers, 2):
        case {1: x, **rest}: return x + len(rest)
        case {2: _}: return 9
    return 0
def match_value_names(s):
    n = 0
    for v in s.numbers:
        match v:
            case 1 | 2: n += v
            case x if x in s.procs[0].seen: n += 7
            case 4: break
    return n
"""

TEXTS = {
    text.partition("(")[0]: f"{_COMMON}def {text}\nlook = {text.partition('(')[0]}\n"
    for text in ("\n" + _LOOKS.strip()).split("\ndef ")[1:]
}
"""The text of each program, by the name of its function."""
