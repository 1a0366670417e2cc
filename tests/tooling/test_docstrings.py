"""Every public object of course_lib has a numpydoc docstring, and what it says is complete.

What learners are meant to call (a package's __all__, and the algorithm that a file is named after)
must have all sections. Elsewhere a summary line may be enough; Parameters that are there are whole.
What all collectives, or all schemes, share is said once, in the docstring of their package.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from types import ModuleType

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

import course_lib
from tests.tooling.planting import REPOSITORY

LAST_LINE_OF_HEAD = 48


@cache
def ignored_codes() -> set[str]:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    checks = settings["tool"]["numpydoc_validation"]["checks"]
    assert checks[0] == "all"  # the others are exceptions
    return set(checks[1:])


def modules() -> list[str]:
    """List the modules of the library; what needs mpi4py is left out where that is missing."""
    found = list(pkgutil.walk_packages(course_lib.__path__, "course_lib."))
    if find_spec("mpi4py") is None:
        found = [info for info in found if ".mpi_backend." not in info.name]
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
                function = getattr(method, "fget", None) or inspect.unwrap(method)
                is_own = getattr(function, "__module__", None) == module.__name__
                if not member.startswith("_") and inspect.isroutine(function) and is_own:
                    yield f"{module.__name__}.{name}.{member}"


def complaints(module_name: str) -> list[str]:
    module = importlib.import_module(module_name)
    ignored = ignored_codes()
    found = []
    for name in public_objects(module):  # ruff sees to the modules' own docstrings
        for code, text in validate(name)["errors"]:
            if code in ignored or needs_no_section(name, code) or said_by_family(name, code, text):
                continue
            found.append(f"{name}: {code} {text}")
    return found


def said_by_family(name: str, code: str, text: str) -> bool:
    """Tell whether what is missing stands in the docstring of the algorithm's package."""
    module_name, _, last = name.rpartition(".")
    package = sys.modules.get(module_name.rpartition(".")[0])
    if module_name.rpartition(".")[2] != last or code not in ("PR01", "RT01"):
        return False
    shared = set(
        re.findall(r"^    (\w+) : ", getattr(package, "__doc__", None) or "", re.MULTILINE)
    )
    return bool(shared) and set(re.findall(r"'(\w+)'", text)) <= shared


def needs_no_section(name: str, code: str) -> bool:
    """Tell whether a summary line may stand without this section."""
    if code not in ("PR01", "RT01", "YD01"):
        return False
    module_name, _, last = name.rpartition(".")
    module = sys.modules.get(module_name)
    thing = getattr(module, last, None)
    has_sections = re.search(r"^\s*Parameters\n\s*---", docstring(name), re.MULTILINE)
    if module is None or inspect.isclass(thing):  # a method; a class, whose fields have comments
        return not has_sections or is_data(thing) or is_error(thing)
    return not has_sections and not is_offered(module, last)


def is_offered(module: ModuleType, name: str) -> bool:
    """Tell whether learners are meant to call a function."""
    parts = module.__name__.split(".")
    packages = [sys.modules[".".join(parts[:depth])] for depth in range(1, len(parts))]
    offered = [other for package in packages for other in getattr(package, "__all__", ())]
    is_algorithm = name == parts[-1] and parts[1:2] in (["collectives"], ["schemes"])
    return name in offered or is_algorithm or parts[-1].startswith("planted")


def docstring(name: str) -> str:
    return str(Validator(get_doc_object(Validator._load_obj(name))).raw_doc)


def is_error(thing: object) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Exception)


def is_data(thing: object) -> bool:
    return inspect.isclass(thing) and dataclasses.is_dataclass(thing)


@pytest.mark.filterwarnings("ignore:Widget.*is deprecated:DeprecationWarning")
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


FAMILY = '''"""Ways to double.

    x : float
        The number.
"""
'''


def test_what_a_family_shares_is_said_once_and_what_is_a_members_own_by_itself(
    tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "planted_family"
    package.mkdir()
    (package / "__init__.py").write_text(FAMILY)
    head = GOOD[: GOOD.index("    Parameters")].rstrip()
    short = f'{head}"""\n    return 2 * x\n'
    for name, signature in (("double", "planted_double(x)"), ("times", "planted_times(x, times)")):
        (package / f"planted_{name}.py").write_text(short.replace("double(x)", signature))
    importlib.invalidate_caches()
    assert complaints("planted_family.planted_double") == []
    (complaint,) = complaints("planted_family.planted_times")
    assert "PR01" in complaint
    assert "'times'" in complaint
    for name in ("", ".planted_double", ".planted_times"):
        sys.modules.pop(f"planted_family{name}", None)


def line_of_body(source: str, name: str) -> int:
    """Return the line of a file on which the body of a function begins, below its docstring."""
    function = next(
        node for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == name
    )  # fmt: skip
    return function.body[1].lineno


# Where a file is not named after the function that holds the algorithm.
HOLDS = {"serial": "walk"}


@pytest.mark.parametrize("package", ["collectives", "schemes"])
def test_the_algorithm_is_in_sight_without_scrolling(package):
    seen, too_far = 0, {}
    for path in (REPOSITORY / "course_lib" / package).glob("*.py"):
        source = path.read_text(encoding="utf-8")
        name = HOLDS.get(path.stem, path.stem)
        if f"def {name}(" in source:
            seen += 1
            line = line_of_body(source, name)
            if line > LAST_LINE_OF_HEAD:
                too_far[path.stem] = line
    assert too_far == {}
    assert seen >= 14
    assert line_of_body(f'def f():\n    """{chr(10) * 50}"""\n    return 1\n', "f") > 50
