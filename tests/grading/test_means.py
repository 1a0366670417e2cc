"""What leads outside is read off the text; no solution and no right answer looks like that."""

import ast

import pytest

from authoring.build import ROOT
from course_lib.checks import SETS, task_named
from course_lib.grading.means import foreign_means, imported
from course_lib.grading.picking import answer_in
from course_lib.grading.submission import Cell, read_cells
from tests.exercises.answers import RIGHT_ANSWERS, name_of


def means(source: str, name: str = "f", module: str = "") -> str:
    return foreign_means(answer_in([Cell(1, source, True, ast.parse(source))], name), module)


@pytest.mark.parametrize("path", RIGHT_ANSWERS, ids=name_of)
def test_a_right_answer_has_none(path):
    assert means(path.read_text(encoding="utf-8"), path.parent.name) == ""


@pytest.mark.parametrize("name", SETS)
def test_a_solution_has_none(name):
    (file,) = (ROOT / "solutions").glob(f"{name[-2:]}_*.ipynb")
    cells = read_cells(file)
    for task in SETS[name]:
        answer = answer_in(cells, task)
        assert answer.is_written
        assert foreign_means(answer, type(task_named(task)).__module__) == ""


@pytest.mark.parametrize(
    "body",
    [
        "import os; os._exit(0)",
        "from os import _exit",
        "import course_lib.checks.sandbox",
        "from course_lib.checks.sandbox import room",
        "from course_lib import checks",
        "from course_lib.checks.lecture_00.hello import TASK",
        "import course_lib\n    course_lib.checks.SETS",
        "import numpy as np\n    np.ctypeslib",
        "import random\n    random._os",
        "open('x')",
        "eval('1')",
        "__import__('os')",
        "getattr(x, '__globals__')",
        "().__class__.__base__.__subclasses__()",
        "x.__globals__",
        "x.gi_frame.f_back",
        "__builtins__",
        "from . import secrets",
        "import importlib",
        "'{0.__class__}'.format(x)",
        "('{0.__cl' + 'ass__}').format(x)",
        "str.format('{0.gi_frame}', x)",
        "import string\n    string.Formatter().format('{0.real}', x)",
        "import operator\n    operator.attrgetter('gi_frame.f_back')",
        "import operator\n    operator.attrgetter('o' + 's')",
        "import sys\n    sys.modules",
        "import sys as s\n    t = s\n    t.maxsize",
        "import sys\n    getattr(sys, 'maxsize')",
        "from sys import modules",
        "import types\n    types.FunctionType",
        "import torch\n    torch.save(x, 'y')",
        "import torch\n    torch.from_file('y', size=1)",
        "from torch import from_file",
        "import torch.distributed",
        "from torch.jit import save",
    ],
)
def test_a_way_out_is_named_with_its_line(body):
    source = f"def helper(x):\n    {body}\n\ndef f(x):\n    return helper(x)"
    found = means(source)
    assert "in cell 1, line " in found
    assert means(source.replace("return helper(x)", "return x")) == "", "nobody uses it then"


def test_texts_that_look_up_nothing_are_no_way_out():
    docstring = 'def f(x):\n    """Like ``list.__len__``."""\n    return "{:.2f}, {name}".format(x)'
    assert means(docstring) == ""
    assert means('from operator import attrgetter\ndef f(x):\n    return attrgetter("src")') == ""


def test_a_program_of_the_exercise_is_no_way_out():
    source = "from course_lib.checks.lecture_00.predict_gather import {}\ndef f():\n    return {}"
    module = "course_lib.checks.lecture_00.predict_gather"
    assert means(source.format("sum_at_rank_0", "sum_at_rank_0"), module=module) == ""
    assert means(source.format("TASK", "TASK"), module=module) != ""


def test_what_it_imports_is_listed_wherever_it_stands():
    first = "import math, os\nimport torch.nn as nn"
    then = (
        "def f(x):\n    from course_lib.collectives import allreduce_ring\n"
        "    return nn.ReLU()(math.pi)"
    )
    cells = [Cell(number, text, False, ast.parse(text)) for number, text in ((1, first), (2, then))]
    assert imported(answer_in(cells, "f")) == ["math", "torch.nn", "course_lib.collectives"]


@pytest.mark.parametrize(
    "text",
    [
        'TEXT = "rank {} of {}"\ndef f(x):\n    return TEXT.format(x, x)',
        "KEYS = 'w'\ndef f(x):\n    return [getattr(x, key) for key in ('w', 'b')] + KEYS",
        "def f(x, y):\n    for key in ['w', 'b']:\n        setattr(x, key, getattr(y, key))",
        "def f(x):\n    return ('rank {} ' + 'of ' + '{}').format(x, x)",
        "TEXT: str = 'rank {}'\ndef f(x):\n    return TEXT.format(x)",
        "from numpy import *\nfrom builtins import sum, max\ndef f(x):\n    return sum(x)",
        "def f(x):\n    match x:\n        case complex(real=a):\n            return a",
        "def f(x):\n    open = [x]\n    return open.pop()",
        "def f(x):\n    for open, close in x:\n        print(close - open)",
        "def f(x):\n    open: list[int] = []\n    open, vars = x\n    return vars(open)",
        "def f(x):\n    return [open for open in x], {eval: 1 for eval in x}",
        "def f(x):\n    with x as open:\n        def g():\n            open(x)\n    return g",
        "def f(x):\n    try:\n        x()\n    except ValueError as open:\n        return open",
        "class A:\n    checks = 0\n    def see(self):\n        self.checks += 1\ndef f(x):\n"
        "    return A().see()",
        "import hashlib, io, pickle, sys\ndef f(x):\n    print(x, file=sys.stderr)\n"
        "    return hashlib.sha256(pickle.dumps(x) + io.BytesIO().getvalue())",
        "from scipy.optimize import brentq\nimport json\ndef f(x):\n    return brentq, json",
        "if __name__ == '__main__':\n    def f(x):\n        return x",
        "def f(x, vars=3):\n    return [vars for _ in range(x)]",
        "import sys\ndef f(x):\n    return min(x, default=sys.maxsize) + sys.float_info.epsilon",
        "def f(x):\n    import sys as s\n    return s.maxsize",
        "from types import SimpleNamespace\ndef f(x):\n    return SimpleNamespace(value=x).value",
    ],
)
def test_names_of_ones_own_are_no_means(text):
    assert means(text) == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('TEXT = "{}"\nTEXT += "{0.a}"\ndef f(x):\n    return TEXT.format(x)', "format of a text"),
        ('TEXT = "{0.gi_frame}"\ndef f(x):\n    return TEXT.format(x)', '"gi_frame" in a text'),
        ('T = "{}"\ndef f(x, T):\n    return T.format(x)', "format of a text"),
        ("def f(x):\n    [open for y in x]\n    return [open for open in x]", "open"),
        ("def f(x):\n    return [y for y in open('x') for open in x]", "open"),
        (
            "def f(x):\n    class A:\n        eval = 1\n        def g(self):\n"
            "            return eval('x')\n    return A",
            "eval",
        ),
        ("def f(x):\n    def g():\n        open = 1\n    return open('x')", "open"),
        ("import course_lib.comm\ndef f(self):\n    return course_lib.checks", ".checks"),
        (
            "def f(x):\n    match x:\n        case object(__globals__=a):\n            return a",
            ".__globals__ in a pattern",
        ),
        (
            "def f(x):\n    match x:\n        case object(modules=a):\n            return a",
            ".modules",
        ),
        ("from builtins import eval\ndef f(x):\n    return eval(x)", "builtins.eval"),
        ("import io\ndef f(x):\n    return io.open('x')", "io"),
        ("import pickle\ndef f(x):\n    return pickle.loads(x)", "pickle"),
        ("def f(x, open=open('/etc/passwd')):\n    return open", "open"),
        ("def f(x, g=lambda eval: eval):\n    return eval('x')", "eval"),
        ("def f(x):\n    open = 1\n    class A:\n        open = open('x')\n    return A", "open"),
        ("def f(x):\n    def g():\n        global open\n        open('x')\n    open = g()", "open"),
    ],
)
def test_names_that_only_look_like_ones_own_are_told(text, told):
    assert means(text).startswith(told)
