"""What is picked out of a notebook: what the function uses, and nothing is run for it."""

import ast
import inspect
from types import SimpleNamespace

import pytest

from course_lib.grading.answer import _loaded, uncalled
from course_lib.grading.house import HouseRuleError
from course_lib.grading.picking import answer_in
from course_lib.grading.submission import Cell, shown_in

STUB = 'def f(x):\n    """Do."""\n    raise NotImplementedError("write this function")\n'


def cells(*sources: str, tagged: tuple[int, ...] = ()) -> list[Cell]:
    found = []
    for number, source in enumerate(sources, start=1):
        try:
            tree, fault = ast.parse(source), ""
        except SyntaxError as error:
            tree, fault = None, f"in its line {error.lineno}: {error.msg}"
        found.append(Cell(number, source, number in tagged, tree, fault))
    return found


def text(*sources: str, tagged: tuple[int, ...] = ()) -> str:
    return "\n".join(text for _, text in answer_in(cells(*sources, tagged=tagged), "f").cells)


def test_imports_helpers_and_constants_come_along_and_nothing_else():
    found = text(
        "import numpy as np\nimport math, os\nfrom course_lib import checks, run",
        "TAU = 3\nprint(TAU)\nOTHER = 4",
        "def helper(x):\n    return np.sum(x) * TAU",
        "for n in range(3):\n    print(f(n))\nn = 5",
        "def f(x):\n    n = 2\n    return helper(x) + n",
        "checks.f(f)\nresult = run(f, workers=4)",
    )
    kept = ast.unparse(ast.parse(found))
    assert kept == ast.unparse(
        ast.parse(
            "import numpy as np\nTAU = 3\n"
            "def helper(x):\n    return np.sum(x) * TAU\n"
            "def f(x):\n    n = 2\n    return helper(x) + n"
        )
    )


def test_of_a_line_that_imports_several_things_only_what_is_used_comes_along():
    found = text("from course_lib import checks, networks, run", "def f(x):\n    return run(f, x)")
    assert found.startswith("from course_lib import run\n")


def test_a_line_of_imports_is_whole_for_the_next_answer_too():
    notebook = cells(
        "from math import floor, sqrt\nimport cmath, json",
        "def f(x):\n    return floor(x), cmath.pi",
        "def g(x):\n    return sqrt(x), json.dumps(x)",
    )
    first = [answer_in(notebook, name).cells[0] for name in "fgf"]
    assert first == [
        (1, "from math import floor\nimport cmath"),
        (1, "from math import sqrt\nimport json"),
        (1, "from math import floor\nimport cmath"),
    ]


def test_what_a_case_names_comes_along_and_what_the_future_brings_holds_in_later_cells():
    notebook = cells(
        "from __future__ import annotations\nimport math",
        "match [1, {'k': 2}, 3]:\n    case [first, {**rest}, *_]:\n        pass",
        "def f(x: NotThere):\n    return first + rest['k'] + x",
        tagged=(2,),
    )
    assert _loaded("f", answer_in(notebook, "f").cells, False)(3) == 6


def test_lines_keep_their_numbers():
    (cell,) = answer_in(cells("x = 1\n\n\ndef f():\n    return 2"), "f").cells
    assert cell == (1, "\n\n\ndef f():\n    return 2")


def test_two_statements_on_a_line_are_told_apart():
    found = text("a = 1; b = open('x'); import math; c = 3\ndef f():\n    return a + math.pi")
    assert "open" not in found
    assert "a = 1; import math" in found


def test_the_definition_in_the_tagged_cell_counts_or_else_the_last_that_is_none_of_a_stub():
    first, second = "def f():\n    return 1", "def f():\n    return 2"
    assert "return 1" in text(first, second, tagged=(1,))
    assert "return 2" in text(first, second)
    assert "return 2" in text(STUB, second, tagged=(1,))
    assert "return 1" in text(first, STUB)


def test_a_stub_and_nothing_are_not_written_and_what_is_no_python_is_told_apart():
    assert not answer_in(cells(STUB), "f").is_written
    assert not answer_in(cells("x = 1"), "f").is_written
    broken = answer_in(cells(STUB, "def f(x)\n    return 1"), "f")
    assert broken.is_written
    assert broken.fault == "code cell 2, in its line 1: expected ':'"


def test_a_thousand_branches_are_not_too_deep():
    branches = "if a == 0:\n    b = 0\n" + "".join(
        f"elif a == {k}:\n    b = {k}\n" for k in range(990)
    )
    assert "def f" in text(branches, "def f():\n    return 1", tagged=(1,))


@pytest.mark.parametrize("source", ["f = lambda: 1 / 0", "def f(x=1 / 0):\n    return 1 / 0"])
def test_the_function_whose_text_is_read_is_made_without_running_a_line(source):
    with pytest.raises(ZeroDivisionError):  # what running it would do
        exec(source + "\nf()", {})
    function = uncalled(answer_in(cells(source), "f"))
    if source.startswith("def"):
        assert inspect.getsource(function).startswith("def f(x=1 / 0):")


def test_what_replaces_a_function_or_fills_what_it_uses_comes_along():
    kept = text(
        "def faster(f):\n    return f",
        "TABLE = []\nfor k in range(3):\n    TABLE.append(k)\nTABLE.sort()\nprint(TABLE)\n"
        "def f(x):\n    return TABLE[x]\nf = faster(f)\nold = f\ndef f(x):\n    return old(x)",
        tagged=(2,),
    )
    for line in ("def faster(f):", "TABLE.append(k)", "TABLE.sort()", "f = faster(f)", "old = f"):
        assert line in kept
    assert "print" not in kept
    space = {}
    exec(kept, space)
    assert space["f"](2) == 2


FORMS = {
    "loop": "WORDS = []\nfor k in range(3):\n    WORDS.append(k)",
    "branch": "import math\nif math.pi > 3:\n    WORDS = [0, 1, 2]",
    "try": "try:\n    from nowhere import WORDS\nexcept ImportError:\n    WORDS = [0, 1, 2]",
    "with": "import contextlib\nwith contextlib.nullcontext([0, 1, 2]) as WORDS:\n    pass",
    "call": "WORDS = [0, 1]\nWORDS.append(2)",
    "one line": "WORDS = [2, 1, 0]; WORDS.reverse()",
    "shown": "print(WORDS := [0, 1, 2])",
    "function of a module": "import heapq\nWORDS = [1]\nheapq.heappush(WORDS, 0)\n"
    "heapq.heappush(WORDS, 2)",
    "function of the notebook": "WORDS = []\ndef fill(n):\n    for k in range(n):\n"
    "        WORDS.append(k)\nfill(3)",
    "function that is given it": "WORDS = []\ndef fill(words):\n    words += [0, 1, 2]\n"
    "fill(WORDS)",
    "decorator": "WORDS = {}\ndef word(k):\n    def keep(g):\n        WORDS[k] = g()\n"
    "        return g\n    return keep\n@word(0)\ndef a():\n    return 0\n@word(2)\ndef c():\n"
    "    return 2",
    "method that decorates": "class Words(dict):\n    def word(self, g):\n"
    "        self[g.__name__[1:]] = g()\n        return g\n    def __getitem__(self, k):\n"
    "        return self.get(str(k))\nWORDS = Words()\n@WORDS.word\ndef w2():\n    return 2",
    "heirs": "class Base:\n    kinds = []\n    def __init_subclass__(cls):\n"
    "        Base.kinds.append(cls)\nclass A(Base):\n    k = 0\nclass B(Base):\n    k = 1\n"
    "class C(Base):\n    k = 2\nWORDS = [kind.k for kind in Base.kinds]",
    "heirs, later": "class WORDS:\n    kinds = []\n    def __init_subclass__(cls):\n"
    "        WORDS.kinds.append(cls.k)\n    def __class_getitem__(cls, k):\n"
    "        return cls.kinds[k]\nclass A(WORDS):\n    k = 0\nclass B(WORDS):\n    k = 1\n"
    "class C(WORDS):\n    k = 2",
    "rows": "WORDS = [[1], [3], [7]]\nfor number, row in enumerate(WORDS):\n"
    "    row[0] = number\nWORDS = [row[0] for row in WORDS]",
    "values": "D = {0: [9], 1: [9], 2: [9, 2]}\nfor v in D.values():\n    v.sort()\n"
    "WORDS = {k: v[0] for k, v in D.items()}",
    "deleted": "WORDS = [7, 0, 1, 2]\ndel WORDS[0]",
    "emptied": "import heapq\nWORDS = [-1, 0, 1, 2]\n_ = heapq.heappop(WORDS)\n"
    "x = WORDS.pop()\nWORDS.append(x)\nWORDS.sort()",
    "result kept": "WORDS = []\ndef register(k):\n    WORDS.append(k)\n    return k\n"
    "zero = register(0)\none = register(1)\ntwo = [register(2)]",
    "listed by itself": "class Word:\n    all = []\n    def __init__(self, k):\n"
    "        Word.all.append(k)\na, b, c = Word(0), Word(1), Word(2)\nWORDS = Word.all",
    "global": "WORDS = []\ndef build():\n    global WORDS\n    WORDS = [0, 1, 2]\n"
    "    return 3\nn = build()",
    "alias": "WORDS = [0, 1]\nrest = WORDS\nrest.append(2)",
    "view": "import numpy as np\nA = np.zeros((3, 2), int)\ncol = A[:, 0]\ncol[:] = [0, 1, 2]\n"
    "WORDS = A[:, 0].tolist()",
    "out": "import numpy as np\nWORDS = np.zeros(3, int)\ntotal = np.add([0, 1, 1], [0, 0, 1], "
    "out=WORDS)",
    "in passing": "WORDS = [0, 5, 2, 1]\n5 in WORDS and WORDS.remove(5)\n"
    "[WORDS.sort() for _ in '1']",
    "setattr": "class Words:\n    def __getitem__(self, k):\n        return self.at(k)\n"
    "def at(self, k):\n    return k\nsetattr(Words, 'at', at)\nWORDS = Words()",
}  # fmt: skip


@pytest.mark.parametrize("tagged", [(), (1, 2)], ids=["helper cell", "exercise cell"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_whatever_gives_or_fills_what_the_function_uses_comes_along(form, tagged):
    trying = (
        "print(WORDS)\nf(2)\nassert f(2) == 2\nresults = [f(k) for k in (0, 2)]\nfor k in (0, 2):"
    )
    trying += "\n    print(f(k))"
    function = "def f(x):\n    return WORDS[x]"
    notebook = cells(form, function, trying, "checks.f(f)", tagged=tagged)
    kept = answer_in(notebook, "f").cells
    assert _loaded("f", kept, False)(2) == 2
    assert [number for number, _ in kept] == [1, 2], "what tries it out stays where it is"


def test_what_is_defined_last_before_the_check_counts_as_it_does_in_the_notebook():
    first, second, third = (f"def f():\n    return {k}" for k in (1, 2, 3))
    check = "from course_lib import checks\nchecks.f(f)"
    for tagged in ((), (1,), (1, 3)):
        notebook = cells(first, second, check, third, tagged=tagged)
        assert _loaded("f", answer_in(notebook, "f").cells, False)() == 2
    checked_again = cells(first, check, second, check, third, tagged=(1,))
    assert _loaded("f", answer_in(checked_again, "f").cells, False)() == 2
    assert _loaded("f", answer_in(cells(STUB, check, second), "f").cells, False)() == 2, (
        "not yet checked"
    )


def test_within_a_cell_what_stands_behind_the_check_does_not_count():
    first, second = "def f():\n    return 1", "def f():\n    return 2"
    checks = "checks.f(f)", "report = checks.f(f)", "assert checks.f(f).passed", "if 1: checks.f(f)"
    for check in checks:
        for sources in ((first, check, second), (f"{first}\n{check}\n{second}",)):
            assert _loaded("f", answer_in(cells(*sources), "f").cells, False)() == 1


def test_what_is_checked_in_a_functions_place_counts_where_that_is_not_written():
    other = "def best(x):\n    return STEP * x\nSTEP = 2"
    for what in ("best", "lambda x: best(x)", "TRIED['best']", "Mine().f"):
        notebook = cells(
            STUB, other, "TRIED = {'best': best}",
            "class Mine:\n    def f(self, x):\n        return best(x)",
            f"checks.f(given)\nchecks.f({what})\nchecks.f(given)", "def best(x):\n    return 0",
        )  # fmt: skip
        answer = answer_in(notebook, "f", {"given"})
        assert _loaded("f", answer.cells, False)(3) == 6, what
        assert not answer_in(cells(STUB, "checks.f(given)"), "f", {"given"}).is_written
        assert answer_in(notebook[:1], "f", {"given"}).is_written is False
    assert inspect.getsource(uncalled(answer_in(cells(STUB, other, "checks.f(best)"), "f"))) == (
        "def best(x):\n    return STEP * x\n"
    )
    both = cells("def f(x):\n    return x", other, "checks.f(best)")
    assert _loaded("f", answer_in(both, "f").cells, False)(3) == 3, "it is written"


def test_what_an_exercise_has_checked_to_show_something_is_known():
    assert shown_in("00") == {"monday"}
    assert shown_in("05") == {"colleagues_ring"}
    assert shown_in("99") == set()


def test_a_helper_of_the_same_name_for_another_task_is_not_taken():
    notebook = cells(
        "def helper():\n    return 1", "def f():\n    return helper()", "checks.f(f)",
        "def helper():\n    return 2", "def g():\n    return helper()", "checks.g(g)",
    )  # fmt: skip
    assert [_loaded(name, answer_in(notebook, name).cells, False)() for name in "fg"] == [1, 2]


def test_what_runs_or_shows_the_function_is_not_run_again():
    kept = text(
        "import matplotlib.pyplot as plt\nfrom course_lib import checks, run\nX = [1]",
        "def f(x=X):\n    return x",
        "run(f, X, workers=4)\nplt.plot(X)\nprint(X, f)\ndisplay(X)\nlist(map(f, X))",
        "for x in X:\n    print(f(x))\nchecks.f(f)",
    )
    assert ast.unparse(ast.parse(kept)) == "X = [1]\n\ndef f(x=X):\n    return x"


def test_a_helpers_loop_shares_its_variables_name_with_whoever_tries_out():
    kept = text(
        "from course_lib import run\nfor k in (2, 4):\n    print(run(f, workers=k).values)",
        "k = run(f, workers=3)\nrows = {}\nfor k in range(2):\n    rows[k] = {}\n"
        "    rows[k][3] = run(f, workers=k)\n    rows[k].pop(3)",
        "WORDS = []\nwith open_nothing() as k:\n    pass",
        "for k in range(3):\n    WORDS.append(2 * k)\nfound = [k for k in WORDS]",
        "def f(x):\n    return WORDS[x]\nfor k in (0, 2):\n    found = f(k)\nchecks.f(f)",
    )
    assert ast.unparse(ast.parse(kept)) == ast.unparse(
        ast.parse(
            "WORDS = []\nfor k in range(3):\n    WORDS.append(2 * k)\n"
            "def f(x):\n    return WORDS[x]"
        )
    )


@pytest.mark.parametrize(
    "call",
    [
        "getattr(x, 'o' + 's')", "hasattr(x, '__glo' + 'bals__')", "setattr(x, 'mod' + 'ules', 1)",
        "list(map(getattr, [x], ['_' + 's' + 'ys']))",
        "getattr(x, type('Key', (str,), {})('os'), 1)",
    ],
)  # fmt: skip
def test_which_attribute_it_is_that_a_name_names_is_seen_when_it_is_looked_up(call: str) -> None:
    source = f"def f(x):\n    x.own = 3\n    assert getattr(x, 'o' + 'wn') == 3\n    {call}"
    function = _loaded("f", answer_in(cells(source), "f").cells, False)
    with pytest.raises(HouseRuleError, match="is not for an answer to an exercise"):
        function(SimpleNamespace())
