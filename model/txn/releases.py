"""The columns of the table of rules: the designs of the KIPs, and combinations of broker and client releases.

A name such as ``txn/2.6`` stands for brokers and a client of the same release, and ``txn/4.0-client-3.9`` for brokers
of 4.0 and a client of 3.9. The brokers use the `inter.broker.protocol.version` or `metadata.version` of their release,
and since 4.0 `transaction.version=2`.
"""

from __future__ import annotations

import re

import attrs

from leadline.model.kafka.published import PUBLISHED, between, known_like, minor, span
from leadline.model.rules import RuleColumn
from leadline.model.txn.bounds import Bounds
from leadline.model.txn.protocols import Protocol
from leadline.model.txn.rules import TABLE


@attrs.frozen(eq=False, kw_only=True)
class Column(RuleColumn):
    """The value of each rule, for a design or for a broker release combined with a client release.

    Its name in the catalog is, for example, ``txn/2.6``.

    Attributes:
        client_versions: the published client releases with these rules, oldest first. Empty for a design.
        bounds: the default bounds. With them, a search takes seconds.
    """

    table = TABLE
    makes = Protocol
    client_versions: tuple[str, ...] = ()
    bounds: Bounds = attrs.field(factory=Bounds)

    @property
    def span(self) -> str:
        """The ranges of broker and client releases with these rules, or an empty string for a design."""
        clients = span(self.client_versions)
        return f"{_runs(self.versions)} with clients of {clients}" if clients else ""

    def is_not_before(self, earlier: Column) -> bool:
        """Return whether this column's brokers and clients are at least as new as those of another column. If a column
        is a design, which has no releases, return True.
        """
        pairs = ((self.versions, earlier.versions), (self.client_versions, earlier.client_versions))
        return all(PUBLISHED.index(own[0]) >= PUBLISHED.index(others[0]) for own, others in pairs if own and others)


# --- designs: each KIP as it is written, by itself ----------------------------------------------------------------

KIP_98 = Column(
    name="txn/kip-98",
    summary="the design of KIP-98: transactions with a coordinator, markers and producer epochs",
    values={
        "expiry": "higher-epoch",
        "end_epoch": "equal",
        "produce_timeout": "abort",
        "time_out": "go-on",
        "last_epoch": "in-memory",
        "offsets_completed": "before-the-answer",
        "verification": "none",
        "guard": "none",
        "open_transaction": "any-epoch",
        "transaction_version": "1",
    },
)


def _after(before: Column, name: str, summary: str, **changed: str) -> Column:
    return attrs.evolve(before, name=name, summary=summary, values={**before.values, **changed}, changed=changed)


KIP_360 = _after(
    KIP_98,
    "txn/kip-360",
    "the design of KIP-360: a producer asks for a higher epoch after an error",
    produce_timeout="abort-and-bump",
)
KIP_890_1 = _after(
    KIP_360,
    "txn/kip-890-1",
    "KIP-890 part 1: leaders ask the coordinator before the first record of a transaction",
    verification="asks",
    guard="compared",
)
KIP_890_2 = _after(
    KIP_890_1,
    "txn/kip-890-2",
    "KIP-890 part 2: the end of a transaction raises the producer epoch",
    open_transaction="same-epoch",
    transaction_version="2",
)

DESIGNS = (KIP_98, KIP_360, KIP_890_1, KIP_890_2)

# --- releases -----------------------------------------------------------------------------------------------------

_WITHOUT_6917 = ("0.11.0.2", "1.0.0", "1.0.1", "1.1.0")
"""The releases before that of KAFKA-6917, on each branch that has it."""

BROKERS: tuple[tuple[str, tuple[str, ...], dict[str, str]], ...] = (
    ("0.11", between("0.11.0.0", "0.11.0.1"), {"expiry": "same-epoch"}),
    ("1.0", _WITHOUT_6917, {"expiry": "higher-epoch", "end_epoch": "not-lower"}),
    (
        "2.0",
        tuple(each for each in between("0.11.0.2", "2.4.1") if each not in _WITHOUT_6917),
        {"offsets_completed": "later"},
    ),
    ("2.5", between("2.5.0", "2.5.1"), {}),
    ("2.6", between("2.6.0", "3.5.2"), {"end_epoch": "equal"}),
    ("3.6", between("3.6.0", "3.9.0"), {"verification": "asks", "guard": "compared"}),
    ("3.9.1", between("3.9.1", "3.9.2"), {"offsets_completed": "before-the-answer"}),
    (
        "4.0",
        between("4.0.0", PUBLISHED[-1]),
        {"open_transaction": "same-epoch", "offsets_completed": "with-the-marker"},
    ),
)
"""The releases of brokers, oldest first: a name, the published versions, and the rules that changed."""

CLIENTS: tuple[tuple[str, tuple[str, ...], str, dict[str, str]], ...] = (
    ("0.11", between("0.11.0.0", "2.4.1"), "0.11", {}),
    ("2.5", between("2.5.0", "3.9.2"), "2.5", {"produce_timeout": "abort-and-bump"}),
    ("4.0", between("4.0.0", PUBLISHED[-1]), "4.0", {"transaction_version": "2"}),
)
"""The releases of clients, oldest first: a name, the published versions, the first brokers of `BROKERS` with which the
rules that changed apply, and these rules.
"""

_BROKERS = [name for name, _, _ in BROKERS]


def _runs(versions: tuple[str, ...]) -> str:
    """Return the ranges of published versions, such as ``1.0.2 and 1.1.1 to 2.4.1``, or an empty string for none."""
    firsts = [each for each in versions if PUBLISHED[PUBLISHED.index(each) - 1] not in versions]
    ends = [*map(versions.index, firsts[1:]), len(versions)]
    *others, last = [span(versions[versions.index(first) : end]) for first, end in zip(firsts, ends, strict=True)] or [
        ""
    ]
    return f"{', '.join(others)} and {last}" if others else last


def _own_client(broker: str) -> str:
    """Return the newest client release whose rules the given broker release supports."""
    known = [name for name, _, first, _ in CLIENTS if _BROKERS.index(first) <= _BROKERS.index(broker)]
    return known[-1]


def _combined(broker: str, client: str) -> Column:
    clients = [name for name, *_ in CLIENTS]
    brokers_until = BROKERS[: _BROKERS.index(broker) + 1]
    clients_until = CLIENTS[: clients.index(client) + 1]
    values = dict(KIP_98.values)
    for changed in (*(each[-1] for each in brokers_until), *(each[-1] for each in clients_until)):
        values |= changed
    versions, client_versions = brokers_until[-1][1], clients_until[-1][1]
    own = client == _own_client(broker)
    later = " or later" if own and client_versions[-1] != PUBLISHED[-1] else ""
    return Column(
        name=f"txn/{broker}" if own else f"txn/{broker}-client-{client}",
        summary=f"transactions with brokers of Kafka {_runs(versions)} and clients of {span(client_versions)}{later}",
        values=values,
        versions=versions,
        client_versions=between(client_versions[0], PUBLISHED[-1]) if own else client_versions,
    )


RELEASES = tuple(
    _combined(broker, client)
    for broker in _BROKERS
    for client in reversed([name for name, _, first, _ in CLIENTS if _BROKERS.index(first) <= _BROKERS.index(broker)])
)
"""Each release of brokers, first with a client of its own release and then with older clients."""

COLUMNS = (*DESIGNS, *RELEASES)

_NAMES = {column.name: column for column in COLUMNS}

_RELEASE = re.compile(r"txn/([\d.]+)(?:-client-([\d.]+))?")


def column_of(reference: str) -> Column | None:
    """Return the column with the given name or alias. The name may also change rules.

    Parameters:
        reference: a name such as ``txn/kip-98``, ``txn/3.7.1`` or ``txn/4.0-client-3.9``. It may be followed by changed
            rules, as in ``txn/2.6+guard=none``.

    Returns:
        The column, or None if no column has the name before the first ``+``.

    Raises:
        SpecError: if a change is invalid; see `RuleColumn.changed_as`.
    """
    name = reference.partition("+")[0]
    column = _NAMES.get(name) or _release(name)
    return None if column is None else column.changed_as(reference)


def _release(name: str) -> Column | None:
    found = _RELEASE.fullmatch(name)
    if found is None:
        return None
    broker = _holder(found[1], [(each, versions) for each, versions, _ in BROKERS])
    client = _holder(found[2] or found[1], [(each, versions) for each, versions, _, _ in CLIENTS])
    if broker is None or client is None:
        return None
    names = [each for each, *_ in CLIENTS]
    applied = min(client, _own_client(broker), key=names.index)
    return _combined(broker, applied)


def _holder(version: str, spans: list[tuple[str, tuple[str, ...]]]) -> str | None:
    """Return the name of the range of releases that contains a version, or None. A minor version stands for its first
    release.
    """
    if version not in PUBLISHED:
        like = known_like(version)
        if not like or version != minor(like[0]):
            return None
        version = like[0]
    return next((name for name, versions in spans if version in versions), None)
