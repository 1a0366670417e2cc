"""Every public object of course_lib has a complete numpydoc docstring."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import sys
import tomllib
from collections.abc import Iterator
from types import ModuleType

import pytest
from numpydoc.validate import validate

import course_lib
from tests.tooling.planting import REPOSITORY


def ignored_codes() -> set[str]:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    checks = settings["tool"]["numpydoc_validation"]["checks"]
    assert checks[0] == "all"  # the others are exceptions
    return set(checks[1:])


def modules() -> list[str]:
    found = pkgutil.walk_packages(course_lib.__path__, "course_lib.")
    names = (info.name for info in found)
    return ["course_lib", *(n for n in names if not any(p.startswith("_") for p in n.split(".")))]


def public_objects(module: ModuleType) -> Iterator[str]:
    """Yield the full names of a module's public classes, methods and functions."""
    for name, thing in vars(module).items():
        is_own = getattr(thing, "__module__", None) == module.__name__
        if name.startswith("_") or not is_own:
            continue
        if inspect.isfunction(thing):
            yield f"{module.__name__}.{name}"
        elif inspect.isclass(thing):
            yield f"{module.__name__}.{name}"
            for member, method in vars(thing).items():
                wrapped = isinstance(method, property | classmethod | staticmethod)
                if not member.startswith("_") and (wrapped or inspect.isfunction(method)):
                    yield f"{module.__name__}.{name}.{member}"


def complaints(module_name: str) -> list[str]:
    module = importlib.import_module(module_name)
    ignored = ignored_codes()
    found = []
    for name in public_objects(module):  # ruff sees to the modules' own docstrings
        for code, text in validate(name)["errors"]:
            if code not in ignored and not is_documented_elsewhere(name, code):
                found.append(f"{name}: {code} {text}")
    return found


def is_documented_elsewhere(name: str, code: str) -> bool:
    """Tell whether the fields of a dataclass, or what an error takes, stand in its own words."""
    module_name, _, last = name.rpartition(".")
    thing = getattr(sys.modules.get(module_name), last, None)
    if code != "PR01" or not inspect.isclass(thing):
        return False
    doc = inspect.getdoc(thing) or ""
    fields = [field.name for field in dataclasses.fields(thing)] if is_data(thing) else []
    return issubclass(thing, Exception) or (bool(fields) and all(f in doc for f in fields))


def is_data(thing: type) -> bool:
    return dataclasses.is_dataclass(thing)


@pytest.mark.parametrize("module_name", modules())
def test_public_docstrings_are_complete(module_name):
    assert complaints(module_name) == []


GOOD = '''"""A module."""


def double(x):
    """Double a number.

    Parameters
    ----------
    x : float
        The number.

    Returns
    -------
    float
        Twice x.
    """
    return 2 * x
'''


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("Double a number.", "Doubles a number.", "SS05"),
        ("Double a number.", "Double a number", "SS03"),
        ("    x : float\n        The number.\n", "    z : float\n        The number.\n", "PR01"),
        ("    x : float\n        The number.\n", "    x\n        The number.\n", "PR04"),
        ("    Returns\n    -------\n    float\n        Twice x.\n", "", "RT01"),
        (GOOD[GOOD.index('    """') : GOOD.index("    return")], "", "GL08"),
    ],
)
def test_a_planted_gap_would_be_found(tmp_path, monkeypatch, old, new, code):
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in [("planted_good", GOOD), ("planted_bad", GOOD.replace(old, new))]:
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
    assert complaints("planted_good") == []
    assert any(f" {code} " in complaint for complaint in complaints("planted_bad"))
    for name in ("planted_good", "planted_bad"):
        sys.modules.pop(name, None)
