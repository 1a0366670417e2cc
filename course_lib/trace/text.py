"""A trace as JSON text, and back.

JSON has no word for a number that is none, or is infinite, as the loss of a training that diverges.
In the value of a note such a number is written as ``{"$float": "nan"}``, or ``"inf"``, or
``"-inf"``. A key that begins with ``$`` by itself gets one more, so that nothing else reads alike.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from course_lib.trace.checking import KINDS, check_head, check_table
from course_lib.trace.events import SCHEMA_VERSION, Message, Note

__all__ = ["read", "write"]

_HEAD = ("backend", "clock", "size")
_NO_NUMBER = "$float"
_NAMES = ("nan", "inf", "-inf")
_A_TRACE = f"a trace of schema {SCHEMA_VERSION}"


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
    for name, kind in KINDS.items():
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
    try:
        return _fields(json.loads(text))
    except RecursionError:
        raise ValueError(f"text must be {_A_TRACE}, got lists in lists without end") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"text must be {_A_TRACE}, got no JSON: {error}") from None


def _fields(content: Any) -> dict[str, Any]:
    schema = content.get("schema") if isinstance(content, dict) else type(content).__name__
    if type(schema) is not int or schema != SCHEMA_VERSION:
        raise ValueError(f"text must be {_A_TRACE}, got {schema!r:.80}")
    fields: dict[str, Any] = {name: content.get(name) for name in _HEAD}
    check_head(**fields)
    for name, kind in KINDS.items():
        rows = check_table(name, content.get(name), fields["size"])
        for place, back in _BACK.get(kind, {}).items():
            for row in rows:
                row[place] = back(row[place])
        fields[name] = list(map(kind._make, rows))
    return fields


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
            return _number_back(value)
        return {key.removeprefix("$"): _with_numbers_back(item) for key, item in value.items()}
    return list(map(_with_numbers_back, value)) if isinstance(value, list) else value


def _number_back(value: dict[str, Any]) -> float:
    name = value[_NO_NUMBER]
    if len(value) > 1 or name not in _NAMES:
        raise ValueError(f"notes: {_NO_NUMBER} must be one of {_NAMES}, got {name!r:.80}")
    return float(name)


_BACK: dict[Any, dict[int, Callable[[Any], Any]]] = {
    Message: {Message._fields.index("shape"): tuple},
    Note: {Note._fields.index("value"): _with_numbers_back},
}
"""Which values of a row JSON cannot hold as they are, by place, and what makes them again."""
