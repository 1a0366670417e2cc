"""What the text does not tell of a notebook: all that is done before the check counts, too."""

import ast

import pytest

from course_lib.grading.answer import _loaded
from course_lib.grading.picking import answer_in, answer_with_deeds_in
from tests.grading.handing_in import examined, hand_in, order, solution
from tests.grading.test_answer import cells

FORMS = {
    "mapped": "WORDS = []\nany(map(WORDS.append, range(3)))",
    "bound method": "WORDS = []\nnote = WORDS.append\nfor k in range(3):\n    note(k)",
    "kept by another": "class Box:\n    def __init__(self, held):\n        self.held = held\n"
    "    def fill(self):\n        self.held += [0, 1, 2]\nWORDS = []\nbox = Box(WORDS)\nbox.fill()",
    "default value": "WORDS = []\ndef note(k, to=WORDS):\n    to.append(k)\nnote(0), note(1)\n"
    "x = note(2)",
    "partial": "from functools import partial\nWORDS = [0]\ndef put(to, k):\n    to += [k]\n"
    "both = partial(put, WORDS)\nboth(1)\nboth(2)",
    "a table of tables": "WORDS = [0, 0, 0]\nALL = {'words': WORDS}\nfor k in range(3):\n"
    "    ALL['words'][k] = k",
    "generator": "WORDS = []\ndef noting():\n    for k in range(3):\n        WORDS.append(k)\n"
    "        yield k\nall_of_it = noting()\ntotal = sum(all_of_it)",
    "used up by a loop": "rows = iter([9, 0, 1, 2])\nfor header in rows:\n    break\n"
    "class Rows:\n    def __getitem__(self, x):\n        return [*rows][x]\nWORDS = Rows()",
    "entered": "WORDS = []\nclass Fill:\n    def __enter__(self, to=WORDS):\n"
    "        to.extend(range(3))\n    def __exit__(self, *_):\n        pass\nfill = Fill()\n"
    "with fill:\n    pass",
    "a property": "WORDS = []\nclass Fill:\n    @property\n    def now(self, to=WORDS):\n"
    "        to.extend(range(3))\nfill = Fill()\nfill.now",
    "an operator": "WORDS = []\nclass Fill:\n    def __lshift__(self, k, to=WORDS):\n"
    "        to.append(k)\n        return self\nfill = Fill()\nfill << 0 << 1 << 2",
    "context": "from contextlib import contextmanager\nWORDS = []\n@contextmanager\n"
    "def words(to=WORDS):\n    yield to.extend\nwith words() as put:\n    put(range(3))",
}  # fmt: skip
FUNCTION = "def f(x):\n    return WORDS[x]"
CHECK = "from course_lib import checks\nchecks.f(f)"


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_what_is_done_in_ways_that_no_text_tells_comes_along(form):
    notebook = cells(form, FUNCTION, CHECK)
    with pytest.raises((IndexError, AssertionError)):
        assert _loaded("f", answer_in(notebook, "f").cells, False)(2) == 2
    more = answer_with_deeds_in(notebook, "f")
    assert more is not None
    assert _loaded("f", more.cells, more.passes_over)(2) == 2


def test_what_fails_and_what_leads_outside_is_passed_over():
    notebook = cells(
        "import os\nimport matplotlib.pyplot as plt\nfrom course_lib import run",
        FORMS["mapped"] + "\nplt.plot(WORDS)\nany(map(os.mkdir, WORDS))\nraise SystemExit",
        "values = run(f, workers=4).values\nany(map(open, WORDS))\n1 / 0; WORDS.sort()",
        "any(map(WORDS.append, [3]))", FUNCTION, CHECK,
    )  # fmt: skip
    more = answer_with_deeds_in(notebook, "f")
    assert more is not None
    kept = "\n".join(text for _, text in more.cells)
    assert not any(word in kept for word in ("import", "run", "open"))
    assert _loaded("f", more.cells, more.passes_over)(3) == 3
    with pytest.raises(ZeroDivisionError):
        _loaded("f", ((1, "1 / 0\ndef f(): pass"),), False)


IMPORT, REFUSED = "from course_lib import run", "def run(*_, **__): raise RuntimeError('not here')"
TRIED = {
    "memo": "SEEN = {}\ndef f(x):\n    if x not in SEEN:\n        SEEN[x] = x\n    return SEEN[x]\n"
    "print(f(1), run(f, 1, workers=2).values)",
    "counter": "n = 0\ndef f(x):\n    global n\n    n += 1\n    return x\n"
    "values = run(f, 2, workers=2)\nassert values == 2\nf(values)",
    "another name": "def first(x):\n    return x\ndef try_it(g):\n    print(run(g, 2, workers=2))\n"
    "f = first\ntry_it(f)",
    "raises": "LOG = []\ndef f(x):\n    LOG.append(x)\n    return x\nf({}['x'])\nf(input())",
}  # fmt: skip


@pytest.mark.parametrize("source", TRIED.values(), ids=TRIED)
def test_what_tries_an_answer_out_and_fails_here_is_passed_over(source):
    more = answer_with_deeds_in(cells(IMPORT, source, CHECK), "f")
    assert more is not None
    texts = tuple((number, text.replace(IMPORT, REFUSED)) for number, text in more.cells)
    assert _loaded("f", texts, more.passes_over)(2) == 2


def test_there_is_nothing_more_where_nothing_else_is_done():
    quiet = (
        "from course_lib import run\nguess = 5\nprint(guess)\nrun(f, workers=2)\ndef g():\n    f(1)"
    )
    notebook = cells("WORDS = [0, 1, 2]", quiet, FUNCTION, CHECK)
    assert answer_with_deeds_in(notebook, "f") is None


def test_an_answer_that_leads_outside_itself_is_not_looked_at_again():
    outside = "def f(x):\n    return open(x)"
    assert answer_with_deeds_in(cells(FORMS["mapped"], outside, CHECK), "f") is None
    for line in (
        "open = 1; import os; any(map(print, [2]))",
        "f = eval('f'); any(map(print, [2]))",
    ):
        more = answer_with_deeds_in(cells(line, FUNCTION, CHECK), "f")
        assert more is None or "os" not in ast.unparse(ast.parse(more.cells[0][1]))


@pytest.mark.slow
def test_grade_credits_what_the_notebooks_own_check_credits(tmp_path):
    right = solution("hello")
    body = right.replace("def hello(", "def hello_of(")
    table = "KNOWN = []\nany(map(KNOWN.append, [hello_of]))\n\n\ndef hello(comm):\n"
    answers = {"hello": f"{body}\n{table}    return KNOWN[0](comm)\n",
               "pass_around": "KNOWN = []\nany(map(KNOWN.append, [0]))\n\n\n"
                              "def pass_around(comm, x):\n    return KNOWN[0]\n"}  # fmt: skip
    found = examined(order(hand_in(tmp_path / "a.ipynb", answers)))
    assert found["hello"][0] == "passed"
    assert found["pass_around"][0] == "failed"
