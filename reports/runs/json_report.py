"""Convert the result of a run to a JSON object for programs, and read such objects."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import cattrs

from leadline.checker.result import Learning, Statistics, Verdict
from leadline.reports.runs.run_view import PropertyView, RunView
from leadline.reports.traces.story import Story

NAMES: dict[type[attrs.AttrsInstance], dict[str, str]] = {
    Learning: {
        "called": "calls_not_learned",
        "by_oracle": "calls_by_oracle",
        "memory": "memory_of_calls_bytes",
        "widest": "widest_part",
        "costliest": "costliest_function",
    },
    Statistics: {
        "distinct": "distinct_states",
        "outside": "states_outside",
        "generated": "generated_states",
        "expanded": "expanded_states",
        "memory": "memory_bytes",
        "calls": "calls_learned",
        "compared": "calls_compared",
        "levels": "states_per_depth",
        "samples": "distinct_states_by_second",
        "covered": "coverage",
    },
    PropertyView: {"premise": "premise_true", "never": "never_true"},
    RunView: {"origin": "leadline", "stop": "stopped_by"},
}
"""For each class, the JSON names of the fields whose names in JSON and Python differ."""

NOTHING_LEARNED = Learning(actions={}, properties={}, called=0, by_oracle=0, memory=0, widest=None)
"""The counts of learning in the JSON object for an engine that does not learn."""


def result_object(run: RunView, trace_files: Mapping[str, list[Path]]) -> dict[str, object]:
    """Convert a run to an object for `json.dumps`, which `read_run` can read.

    The object contains every field of the run but `Statistics.free`. The counts of `Statistics` and `Learning` are at
    the top level. The counts for an action or property are in the entry of that action or property.

    Parameters:
        trace_files: the trace files that were written for each property, keyed by the name of the property.

    Returns:
        The object. States are counted as the model checker TLC counts them. ``trace_length`` is a number of states.
        ``seconds`` is wall-clock time. Each entry of ``distinct_states_by_second`` has two numbers: the time since the
        start in seconds, and the number of distinct states found by then.
    """
    content = _CONVERTER.unstructure(run)
    statistics = content.pop("statistics")
    del statistics["free"]  # only progress reports have it
    learning = statistics.pop("learning") or _CONVERTER.unstructure(NOTHING_LEARNED)
    learned_of_action, learned_of_property = learning.pop("actions"), learning.pop("properties")
    degrees = {"min": statistics.pop("out_degree_min"), "max": statistics.pop("out_degree_max")}
    actions = [
        {"name": name, **counts, "calls_learned": learned_of_action.get(name, 0)}
        for name, counts in statistics.pop("actions").items()
    ]
    properties = [
        {
            **_renamed(PropertyView, item),
            "calls_learned": learned_of_property.get(item["name"], 0),
            "trace_file": str(trace_files[item["name"]][0]) if item["name"] in trace_files else None,
            "trace_files": [str(path) for path in trace_files.get(item["name"], [])],
        }
        for item in content.pop("properties")
    ]
    return {
        **_renamed(RunView, content),
        "note": run.note or None,
        "reason": run.reason if run.verdict is Verdict.INCOMPLETE else None,
        "exhausted": run.exhausted,
        **_renamed(Statistics, statistics),
        **_renamed(Learning, learning),
        "out_degree": degrees | {"mean": round(run.statistics.out_degree_mean, 3)},
        "properties": properties,
        "actions": actions,
    }


def read_run(content: Mapping[str, Any]) -> RunView:
    """Read a run from an object that `result_object` returned.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: if another version of leadline wrote the object.
    """
    actions, degrees = {item["name"]: item for item in content["actions"]}, content["out_degree"]
    learned = {
        "actions": {name: item["calls_learned"] for name, item in actions.items()},
        "properties": {item["name"]: item["calls_learned"] for item in content["properties"]},
    }
    counted = {
        "free": None,
        "out_degree_min": degrees["min"],
        "out_degree_max": degrees["max"],
        "actions": actions,
        "learning": _fields(Learning, content, learned) if content["calls_by_oracle"] else None,
    }
    parts = {
        "note": content["note"] or "",
        "statistics": _fields(Statistics, content, counted),
        "properties": [_fields(PropertyView, item, {}) for item in content["properties"]],
    }
    return _CONVERTER.structure(_fields(RunView, content, parts), RunView)


def _renamed(kind: type[attrs.AttrsInstance], content: Mapping[str, object]) -> dict[str, object]:
    """Return the values of fields, keyed by the JSON names of the fields.

    Parameters:
        content: the values, keyed by the Python names of the fields.
    """
    return {NAMES[kind].get(name, name): value for name, value in content.items()}


def _fields(
    kind: type[attrs.AttrsInstance], content: Mapping[str, object], others: Mapping[str, object]
) -> dict[str, object]:
    """Return the value of each field of a class, keyed by its Python name.

    Parameters:
        content: the values of fields, keyed by their JSON names.
        others: the values of fields that `content` does not contain, or contains in a different form.

    Raises:
        KeyError: if a field is missing, even if it has a default.
    """
    return {
        name: others[name] if name in others else content[NAMES[kind].get(name, name)]
        for name in attrs.fields_dict(kind)
    }


def _converter() -> cattrs.Converter:
    """Return a converter that does not wrap exceptions, and does not change the values of bounds and settings."""
    converter = cattrs.Converter(detailed_validation=False)
    converter.register_structure_hook_func(lambda kind: kind is object, lambda value, _: value)
    return converter


_CONVERTER = _converter()


def story_object(story: Story) -> dict[str, object]:
    """Convert a trace to an object for `json.dumps`, in which states, steps and messages are strings."""
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
                "along": frame.along,
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
        "loop": None if story.loop is None else story.loop + 1,
    }
