"""A trace as JSON text, and back.

JSON has no word for a number that is none, or is infinite, as the loss of a training that diverges.
In the value of a note such a number is written as ``{"$float": "nan"}``, or ``"inf"``, or
``"-inf"``. A key that begins with ``$`` by itself gets one more, so that nothing else reads alike.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from course_lib.trace.events import (
    SCHEMA_VERSION,
    Collective,
    Compute,
    Fault,
    Message,
    Note,
    Wait,
)

__all__ = ["read", "write"]

_KINDS: dict[str, Any] = {
    "messages": Message,
    "computes": Compute,
    "waits": Wait,
    "notes": Note,
    "faults": Fault,
    "collectives": Collective,
}
_HEAD = ("backend", "clock", "size")
_NO_NUMBER = "$float"


def write(fields: Mapping[str, Any]) -> str:
    """Write the fields of a trace as JSON.

    Parameters
    ----------
    fields : mapping of str to Any
        By the names of ``Trace``.

    Returns
    -------
    str
        The same for the same trace, to the byte.
    """
    content = {"schema": SCHEMA_VERSION, **{name: fields[name] for name in _HEAD}}
    for name, kind in _KINDS.items():
        rows = list(fields[name])
        if kind is Note:
            rows = [note._replace(value=_with_numbers_named(note.value)) for note in rows]
        content[name] = {"fields": kind._fields, "rows": rows}
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def read(text: str) -> dict[str, Any]:
    """Read what ``write`` wrote.

    Parameters
    ----------
    text : str
        The JSON text.

    Returns
    -------
    dict of str to Any
        The fields of a trace.

    Raises
    ------
    ValueError
        If the text is no trace, or one of another schema version.
    """
    content = json.loads(text)
    if not isinstance(content, dict) or content.get("schema") != SCHEMA_VERSION:
        found = content.get("schema") if isinstance(content, dict) else type(content).__name__
        raise ValueError(f"text must be a trace of schema {SCHEMA_VERSION}, got {found!r}")
    fields: dict[str, Any] = {name: content[name] for name in _HEAD}
    for name, kind in _KINDS.items():
        table = content[name]
        fields[name] = [_event(kind, table["fields"], row) for row in table["rows"]]
    return fields


def _event(kind: Any, names: list[str], row: list[Any]) -> Any:
    values = dict(zip(names, row, strict=True))
    if kind is Message:
        values["shape"] = tuple(values["shape"])
    if kind is Note:
        values["value"] = _with_numbers_back(values["value"])
    return kind(**values)


def _with_numbers_named(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {_NO_NUMBER: str(float(value))}
    if isinstance(value, dict):
        return {
            f"${key}" if key.startswith("$") else key: _with_numbers_named(item)
            for key, item in value.items()
        }
    return list(map(_with_numbers_named, value)) if isinstance(value, list) else value


def _with_numbers_back(value: Any) -> Any:
    if isinstance(value, dict):
        if _NO_NUMBER in value:
            return float(value[_NO_NUMBER])
        return {key.removeprefix("$"): _with_numbers_back(item) for key, item in value.items()}
    return list(map(_with_numbers_back, value)) if isinstance(value, list) else value
