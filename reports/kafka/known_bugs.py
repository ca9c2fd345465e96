"""The known bugs of a release that a search of its spec can find, and those that it cannot find; a remark about
settings; and a warning for a release that was changed.

The archive of bugs imports every model, so it is imported only for a release.
"""

from __future__ import annotations

from typing import Any

import attrs

from leadline.checker.errors import LeadlineError
from leadline.checker.spec import Spec
from leadline.model.kafka.bounds import Bounds


def known_bugs_outside(spec: Spec[Any]) -> tuple[str, ...]:
    """Return the tickets of a release's known bugs that a search of the release's spec cannot find.

    Parameters:
        spec: the spec that is searched. If the spec is not a release, the archive is not read and the result is empty.
    """
    if spec.column is None or not spec.column.versions:
        return ()
    from leadline.reports.kafka.bugs import read_archive

    return tuple(bug.ticket for bug in read_archive().outside(spec))


def too_early(spec: Spec[Any]) -> str:
    """Return a remark about settings of consumers that a release of groups does not have yet, or an empty string."""
    if spec.column is None or spec.family.name != "group":
        return ""
    from leadline.model.group.releases import GroupColumn

    return spec.column.too_early(spec.bounds) if isinstance(spec.column, GroupColumn) else ""


def refuse_unclaimed(spec: Spec[Any]) -> None:
    """Refuse failures of log directories in a release that does more with them than the model, and moving starts of
    logs in a release that follows other rules for them than the first release of its column.

    Raises:
        LeadlineError: if the bounds of the spec have such failures or moving starts.
    """
    if spec.column is None or not isinstance(spec.bounds, Bounds):
        return
    from leadline.model.kafka.published import known_like
    from leadline.model.kafka.releases import CAVEATS, Column

    release = spec.name.removeprefix("kafka/").partition("+")[0]
    if spec.bounds.lost_directories and release in CAVEATS:
        raise LeadlineError(f"{spec.name} with lost_directories={spec.bounds.lost_directories}: {CAVEATS[release]}")
    if not spec.bounds.starts or not isinstance(spec.column, Column):
        return
    version = next(iter(known_like(release)), release) if release.count(".") == 1 else release
    other = spec.column.changed_within(version)
    if other:
        first = spec.column.versions[0]
        rules = "+".join(f"{rule}={value}" for rule, value in other.items())
        raise LeadlineError(f"{spec.name} with deletes or retentions: {version} differs from {first}; add +{rules}")


def too_few_brokers(spec: Spec[Any]) -> str:
    """Return a warning if a changed release has so few brokers that a change of the ISR's rules can hardly be seen.

    If ``min.insync.replicas`` is the number of replicas, a record is acknowledged with acks=all, and committed since
    KAFKA-15583, only while every replica is in the ISR. A follower that is outside of it then misses nothing.

    Parameters:
        spec: the spec that is searched. If it is a release, or has no such bounds, there is no warning.
    """
    bounds = spec.bounds
    is_release = spec.column is not None and "+" not in spec.column.name
    if is_release or not isinstance(bounds, Bounds) or bounds.replicas or bounds.acks != "all":
        return ""
    if bounds.brokers < 2 or bounds.min_insync_replicas < bounds.brokers:
        return ""
    return (
        f"with min_insync_replicas={bounds.min_insync_replicas} and {bounds.brokers} brokers, records are acknowledged "
        f"only while every replica is in the ISR: try -b brokers={bounds.brokers + 1}, too"
    )


@attrs.frozen
class KnownBug:
    """A known bug that violates a property within the bounds of a search.

    Attributes:
        defaults: bounds on failures that the bug needs, keyed by name. Only those bounds are included that have the
            release's default value in the search.
    """

    ticket: str
    defaults: dict[str, int]


def known_bugs_within(spec: Spec[Any], name: str) -> tuple[KnownBug, ...]:
    """Return a release's known bugs that can violate a property within the bounds of a search.

    Parameters:
        spec: the spec with the bounds of the search. If the spec is not a release, the archive is not read and the
            result is empty.
    """
    if spec.column is None or not spec.column.versions:
        return ()
    from leadline.reports.kafka.bugs import read_archive
    from leadline.reports.loading import load_spec

    own, found = attrs.asdict(load_spec(spec.name).bounds), []
    for bug in read_archive().known(spec, name):
        needed = [each for each in spec.family.perturbations if bug.bounds_for(spec.name).get(each, 0)]
        defaults = {each: own[each] for each in needed if getattr(spec.bounds, each) == own[each]}
        found.append(KnownBug(bug.ticket, defaults))
    return tuple(found)
