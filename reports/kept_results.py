"""Keep the results of searches, so that none is made twice and an interrupted series can be continued.

A result is kept under a digest of everything that it depends on. Its traces are executed again before they are used.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs

from leadline.checker.errors import LeadlineError
from leadline.checker.mutation.processes import answers
from leadline.checker.observing.digest import code_digest, reads_outside
from leadline.checker.properties import Property
from leadline.checker.result import Limits, LivenessCounts, PropertyResult, Result, Statistics, Stop, StopKind, Verdict
from leadline.checker.spec import Spec
from leadline.checker.support.files import file_text
from leadline.checker.traces.itf import decode_trace, encode_trace
from leadline.checker.traces.replay import replay


@attrs.define
class KeptResults:
    """The results of searches by digest, in memory and, if there is a file, in it.

    Attributes:
        file: the file, with a line for each result, or None. A last line that was cut off is searched again.
        seconds: the processor time of the searches that were asked for, also of those that were made before.
    """

    file: Path | None = None
    seconds: float = attrs.field(default=0.0, init=False)
    _known: dict[str, Any] = attrs.field(factory=dict, init=False)
    _counted: set[str] = attrs.field(factory=set, init=False)
    _asked: dict[tuple[int, ...], tuple[object, str]] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        if self.file is None or not self.file.exists():
            return
        *lines, cut_off = file_text(self.file).split("\n")
        for number, line in enumerate(lines, start=1):
            try:
                kept = json.loads(line)
                self._known[kept["digest"]] = kept
            except (ValueError, TypeError, KeyError) as error:
                raise LeadlineError(f"{self.file}, line {number} is not the result of a search") from error
        if cut_off:
            if not cut_off.startswith('{"digest": '[: len(cut_off)]):
                raise LeadlineError(f"{self.file} does not contain results of searches")
            os.truncate(self.file, self.file.stat().st_size - len(cut_off.encode()))

    def result(self, spec: Spec[Any], limits: Limits, search: Callable[[], Result]) -> Result:
        """Return the result of a search, which is made only if it was not made before, or if the spec may read
        other data now.

        Raises:
            LeadlineError: if the file cannot be written.
        """
        digest = _digest(spec, limits)
        known = self._is_known(digest, spec)
        begun = time.process_time()
        result = _result(spec, self._known[digest]) if known else search()
        if result.interrupted:
            return result
        if not known:
            self._keep(digest, _content(result, time.process_time() - begun))
        if digest not in self._counted:
            self._counted.add(digest)
            self.seconds += self._known[digest]["processor"]
        return result

    def in_processes(
        self, searches: Iterable[tuple[Spec[Any], Limits, Callable[[], Result]]], workers: int
    ) -> Iterator[None]:
        """Make those searches that were not made before in processes of their own, several at the same time. Yield
        after each.

        Parameters:
            searches: for each search, its spec and limits, and a function that makes it.

        Raises:
            LeadlineError: if a search fails, or if the file cannot be written.
        """
        digests = ((_digest(spec, limits), spec, search) for spec, limits, search in searches)
        calls = {
            digest: functools.partial(_in_process, search)
            for digest, spec, search in digests
            if not self._is_known(digest, spec)
        }
        for answer in answers(calls.items(), workers, _LONGEST):
            if isinstance(answer.found, LeadlineError):
                raise answer.found
            if isinstance(answer.found, str):
                raise LeadlineError(f"a search failed: {answer.found}")
            self._keep(answer.name, answer.found)
            yield

    def _is_known(self, digest: str, spec: Spec[Any]) -> bool:
        """Return whether a result can be taken. Files of earlier versions do not have the processor time."""
        return "processor" in self._known.get(digest, {}) and not self._outside(spec)

    def _keep(self, digest: str, content: dict[str, Any]) -> None:
        self._known[digest] = kept = {"digest": digest, **content}
        if self.file is not None:
            try:
                with self.file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(kept) + "\n")
            except OSError as error:
                raise LeadlineError(f"cannot write {self.file}: {error.strerror}") from error

    def _outside(self, spec: Spec[Any]) -> str:
        """Return what `reads_outside` tells, which bounds do not change. It is asked once for the same functions."""
        functions = (spec.initial_states, *spec.limits.values(), *spec.actions, *spec.properties)
        key = tuple(map(id, functions))
        if key not in self._asked:
            self._asked[key] = functions, reads_outside(spec)  # held, so that their ids are not reused
        return self._asked[key][1]


_LONGEST = 10.0**6
"""The seconds after which a process is killed: more than any search takes."""


def _digest(spec: Spec[Any], limits: Limits) -> str:
    return hashlib.sha256(f"{spec.name} {code_digest(spec)} {limits}".encode()).hexdigest()


def _in_process(search: Callable[[], Result]) -> dict[str, Any]:
    begun = time.process_time()
    return _content(search(), time.process_time() - begun)


def _content(result: Result, processor: float) -> dict[str, Any]:
    counts = result.statistics
    return {
        "stop": None if result.stop is None else [result.stop.kind.name, result.stop.text],
        "distinct": counts.distinct,
        "depth": counts.depth,
        "seconds": counts.seconds,
        "processor": processor,
        "open": counts.open if counts.liveness is not None else None,
        "properties": [
            [item.verdict.value, item.premise, [encode_trace(trace) for trace in item.traces]]
            for item in result.properties
        ],
    }


def _result(spec: Spec[Any], kept: dict[str, Any]) -> Result:
    liveness = None if kept["open"] is None else LivenessCounts(0, 0, kept["open"], 0.0)
    statistics = Statistics(distinct=kept["distinct"], depth=kept["depth"], seconds=kept["seconds"], liveness=liveness)
    stop = None if kept["stop"] is None else Stop(StopKind[kept["stop"][0]], kept["stop"][1])
    properties = [_property(spec, item, own) for item, own in zip(spec.checks, kept["properties"], strict=True)]
    return Result(spec, "compiled", stop, statistics, tuple(properties))


def _property(spec: Spec[Any], item: Property, kept: list[Any]) -> PropertyResult:
    verdict, premise, traces = kept
    return PropertyResult(item, Verdict(verdict), tuple(replay(spec, decode_trace(trace)) for trace in traces), premise)
