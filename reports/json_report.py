"""JSON: a result as one object, for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from checker.properties import Property
from checker.result import ActionCount, Result, Statistics, Verdict
from reports.story import Story


def result_object(result: Result, trace_files: dict[Property, list[Path]]) -> dict[str, Any]:
    """A result as an object that `json.dumps` takes.

    Parameters:
        result: the result.
        trace_files: the trace files written for each property.

    Returns:
        Counts are as TLC counts; ``trace_length`` is in states; ``seconds`` is wall-clock time;
        ``distinct_states_by_second`` has pairs of seconds and the distinct states found until then.
    """
    statistics = result.statistics
    return {
        "spec": result.spec.name,
        "bounds": attrs.asdict(result.spec.bounds),
        "engine": result.engine,
        "settings": result.settings,
        "verdict": result.verdict.value,
        "reason": result.reason if result.verdict is Verdict.INCOMPLETE else None,
        "exhausted": result.exhausted,
        "note": result.note or None,
        "distinct_states": statistics.distinct,
        "generated_states": statistics.generated,
        "expanded_states": statistics.expanded,
        "depth": statistics.depth,
        "queue": statistics.queue,
        "memory_bytes": statistics.memory,
        "calls_learned": statistics.calls,
        "calls_compared": statistics.compared,
        "seconds": round(statistics.seconds, 3),
        "out_degree": {
            "min": statistics.out_degree_min,
            "mean": round(statistics.out_degree_mean, 3),
            "max": statistics.out_degree_max,
        },
        "deadlocks": statistics.deadlocks,
        "states_per_depth": statistics.levels,
        "distinct_states_by_second": statistics.samples,
        "properties": [
            {
                "name": item.property.name,
                "kind": item.property.kind.value,
                "sentence": item.property.sentence,
                "verdict": item.verdict.value,
                "trace_length": len(item.traces[0]) if item.traces else None,
                "trace_file": str(trace_files[item.property][0]) if item.property in trace_files else None,
                "trace_files": [str(path) for path in trace_files.get(item.property, [])],
            }
            for item in result.properties
        ],
        "actions": [
            {"name": name, "generated": count.generated, "distinct": count.distinct}
            for name, count in statistics.actions.items()
        ],
    }


def statistics_of(content: dict[str, Any]) -> Statistics:
    """The statistics that `result_object` wrote."""
    degree, expanded = content["out_degree"], content["expanded_states"]
    return Statistics(
        distinct=content["distinct_states"],
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
        compared=content["calls_compared"],
        levels=tuple(content["states_per_depth"]),
        samples=tuple((seconds, distinct) for seconds, distinct in content["distinct_states_by_second"]),
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
                "rows": frame.lanes,
                "changed": sorted(frame.changed),
                "happened_in": story.diagram.touched[number],
            }
            for number, frame in enumerate(story.frames)
        ],
        "messages": [attrs.asdict(arrow) for arrow in story.diagram.arrows],
        "ending": story.ending,
    }
