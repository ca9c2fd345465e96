"""JSON: a result as one object, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import cattrs

from leadline.checker.coverage import CoverageCounts
from leadline.checker.properties import Kind
from leadline.checker.result import ActionCount, Learning, Statistics, Verdict, WalkCounts, Widest
from leadline.reports.origin import Origin
from leadline.reports.runs.run_view import PropertyView, RunView
from leadline.reports.traces.story import Story


def result_object(run: RunView, trace_files: Mapping[str, list[Path]]) -> dict[str, Any]:
    """A run as an object that `json.dumps` takes. `read_run` reads it.

    Parameters:
        run: the run.
        trace_files: the trace files written for each property, by its name.

    Returns:
        Counts are as TLC counts; ``trace_length`` is in states; ``seconds`` is wall-clock time;
        ``distinct_states_by_second`` has pairs of seconds and the distinct states found until then.
    """
    statistics, learning = run.statistics, run.statistics.learning
    return {
        "leadline": attrs.asdict(run.origin) if run.origin is not None else None,
        "spec": run.spec,
        "bounds": dict(run.bounds),
        "engine": run.engine,
        "settings": dict(run.settings),
        "verdict": run.verdict.value,
        "reason": run.reason if run.verdict is Verdict.INCOMPLETE else None,
        "exhausted": run.exhausted,
        "note": run.note or None,
        "distinct_states": statistics.distinct,
        "states_outside": statistics.outside,
        "generated_states": statistics.generated,
        "expanded_states": statistics.expanded,
        "depth": statistics.depth,
        "queue": statistics.queue,
        "memory_bytes": statistics.memory,
        "calls_learned": statistics.calls,
        "calls_compared": statistics.compared,
        "calls_not_learned": learning.called if learning else 0,
        "calls_by_oracle": learning.by_oracle if learning else 0,
        "memory_of_calls_bytes": learning.memory if learning else 0,
        "widest_part": attrs.asdict(learning.widest) if learning and learning.widest else None,
        "seconds": round(statistics.seconds, 3),
        "out_degree": {
            "min": statistics.out_degree_min,
            "mean": round(statistics.out_degree_mean, 3),
            "max": statistics.out_degree_max,
        },
        "deadlocks": statistics.deadlocks,
        "states_per_depth": statistics.levels,
        "distinct_states_by_second": statistics.samples,
        "walked": attrs.asdict(statistics.walked) if statistics.walked else None,
        "coverage": attrs.asdict(statistics.covered) if statistics.covered else None,
        "properties": [
            {
                "name": item.name,
                "kind": item.kind.value,
                "sentence": item.sentence,
                "source": item.source,
                "verdict": item.verdict.value,
                "calls_learned": learning.properties.get(item.name, 0) if learning else 0,
                "premise_true": item.premise,
                "trace_length": item.trace_length,
                "trace_file": str(trace_files[item.name][0]) if item.name in trace_files else None,
                "trace_files": [str(path) for path in trace_files.get(item.name, [])],
            }
            for item in run.properties
        ],
        "actions": [
            {
                "name": name,
                "generated": count.generated,
                "distinct": count.distinct,
                "calls_learned": learning.actions[name] if learning else 0,
            }
            for name, count in statistics.actions.items()
        ],
    }


def read_run(content: Mapping[str, Any]) -> RunView:
    """The run that `result_object` wrote.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is not as this version writes it.
    """
    return RunView(
        spec=content["spec"],
        bounds=dict(content["bounds"]),
        engine=content["engine"],
        settings=dict(content["settings"]),
        verdict=Verdict(content["verdict"]),
        reason=content["reason"],
        exhausted=content["exhausted"],
        note=content["note"] or "",
        statistics=_statistics(content),
        properties=tuple(
            PropertyView(
                name=item["name"],
                kind=Kind(item["kind"]),
                sentence=item["sentence"],
                source=item["source"],
                verdict=Verdict(item["verdict"]),
                trace_length=item["trace_length"],
                premise=item["premise_true"],
            )
            for item in content["properties"]
        ),
        origin=Origin(**content["leadline"]) if content["leadline"] is not None else None,
    )


def _statistics(content: Mapping[str, Any]) -> Statistics:
    degree, expanded = content["out_degree"], content["expanded_states"]
    return Statistics(
        distinct=content["distinct_states"],
        outside=content["states_outside"],
        generated=content["generated_states"],
        depth=content["depth"],
        queue=content["queue"],
        expanded=expanded,
        successors=round(degree["mean"] * expanded),
        out_degree_min=degree["min"],
        out_degree_max=degree["max"],
        deadlocks=content["deadlocks"],
        seconds=content["seconds"],
        actions={item["name"]: ActionCount(item["generated"], item["distinct"]) for item in content["actions"]},
        memory=content["memory_bytes"],
        calls=content["calls_learned"],
        learning=_learning(content),
        compared=content["calls_compared"],
        levels=tuple(content["states_per_depth"]),
        samples=tuple((seconds, distinct) for seconds, distinct in content["distinct_states_by_second"]),
        walked=_walked(content),
        covered=_covered(content["coverage"]),
    )


def _covered(content: Any) -> CoverageCounts | None:
    if content is None:
        return None
    converter = cattrs.Converter(detailed_validation=False)  # which raises plain exceptions
    return converter.structure(content, CoverageCounts)


def _walked(content: Mapping[str, Any]) -> WalkCounts | None:
    walked = content["walked"]
    if walked is None:
        return None
    return WalkCounts(**{**walked, "lengths": tuple(walked["lengths"]), "depths": tuple(walked["depths"])})


def _learning(content: Mapping[str, Any]) -> Learning | None:
    if not content["calls_by_oracle"]:
        return None
    widest = content["widest_part"]
    return Learning(
        actions={item["name"]: item["calls_learned"] for item in content["actions"]},
        properties={item["name"]: item["calls_learned"] for item in content["properties"]},
        called=content["calls_not_learned"],
        by_oracle=content["calls_by_oracle"],
        memory=content["memory_of_calls_bytes"],
        widest=None if widest is None else Widest(**widest),
    )


def story_object(story: Story) -> dict[str, Any]:
    """A trace as an object that `json.dumps` takes: what the text shows of each step, and the diagram's arrows."""
    return {
        "title": story.title,
        "legend": story.legend,
        "states": [
            {
                "action": frame.label or None,
                "sentence": frame.sentence or None,
                "losses": frame.losses or None,
                "rows": {name: row.columns for name, row in frame.rows.items()},
                "changed": sorted(frame.changed),
                "happened_in": story.diagram.touched[number],
            }
            for number, frame in enumerate(story.frames)
        ],
        "messages": [
            attrs.asdict(each.message) | {"sent": each.sent, "ended": each.ended, "lost": each.lost}
            for each in story.diagram.deliveries
        ],
        "what_happened": [{**attrs.asdict(event), "state": event.state + 1} for event in story.happened],
        "ending": story.ending,
    }
