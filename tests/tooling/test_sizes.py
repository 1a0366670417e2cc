"""Files and functions stay short enough to be read in one sitting; exceptions are named."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tooling.planting import REPOSITORY

MOST_LINES = 300
MOST_LINES_OF_A_FUNCTION = 40
"""From the first statement after its docstring to the last."""
MOST_PARAMETERS = 6
"""Of a constructor."""

LONG_FILES = {
    # Their docstrings are the contract.
    "comm/communicator.py", "trace/trace.py",
}  # fmt: skip
LONG_FUNCTIONS = {
    "checks/diagnosis.py _mishap_hint",  # a table of sentences
    "checks/lecture_01/gradient_step.py mistakes",  # the same
    "checks/lecture_01/noise_scale.py mistakes",  # the same
    "checks/lecture_03/average_every.py mistakes",  # the same
    "checks/lecture_11/pareto_front.py mistakes",  # the same
    "checks/lecture_11/what_is_unfair.py mistakes",  # the same
    "checks/lecture_14/lost_or_twice.py mistakes",  # the same
    "checks/lecture_01/predict_batch_size.py alternatives",  # the same
    "checks/lecture_01/tuned_batch.py _wrong",  # the same
    "checks/lecture_03/data_parallel.py mistakes",  # the same
    "checks/lecture_04/predict_nic.py alternatives",  # the same
    "checks/lecture_04/predict_step.py alternatives",  # the same
    "checks/lecture_04/parameter_server.py mistakes",  # the same
    "checks/lecture_05/predict_crossover.py alternatives",  # the same
    "checks/lecture_06/best_workers.py wrong_answers",  # the same
    "checks/lecture_06/critical_path.py alternatives",  # the same
    "checks/lecture_06/hidden_seconds.py mistakes",  # the same
    "checks/lecture_06/predict_bucket.py wrong_answers",  # the same
    "checks/lecture_12/predict_bound.py alternatives",  # the same
    "cli/train_arguments.py _parser",  # a table of options
    "comm/collective.py collective",  # in one piece, for a few microseconds
    "comm/collective.py traced",  # the same
    "comm/processes/worker/worker.py _live",  # a worker's life, in order
    "trace/recorder.py assemble",
    "viz/stills/stage.py draw_token",
}


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the name of every function, and the lines of its body without the docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            yield node.name, lines


def too_long(package: Path) -> tuple[set[str], set[str]]:
    files, long_functions = set(), set()
    for file in package.rglob("*.py"):
        text, name = file.read_text(encoding="utf-8"), file.relative_to(package).as_posix()
        if len(text.splitlines()) > MOST_LINES:
            files.add(name)
        long_functions |= {
            f"{name} {function}"
            for function, lines in functions(ast.parse(text))
            if lines > MOST_LINES_OF_A_FUNCTION
        }
    return files, long_functions


def test_what_is_long_is_named_and_what_is_named_is_long():
    assert too_long(REPOSITORY / "course_lib") == (LONG_FILES, LONG_FUNCTIONS)


def too_many_parameters(package: Path) -> set[str]:
    found = set()
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs][1:]
                if len(given) > MOST_PARAMETERS:
                    found.add(f"{file.relative_to(package).as_posix()}:{node.lineno}")
    return found


def test_no_constructor_takes_more_than_one_can_keep_in_mind():
    assert too_many_parameters(REPOSITORY / "course_lib") == set()


@pytest.mark.parametrize(
    ("given", "found"), [("a, b, c, *, d, e, f", set()), ("a, b, c, *, d, e, f, g", {"new.py:2"})]
)
def test_a_constructor_with_too_many_parameters_would_be_found(tmp_path, given, found):
    (tmp_path / "new.py").write_text(f"class C:\n    def __init__(self, {given}): pass\n")
    assert too_many_parameters(tmp_path) == found


@pytest.mark.parametrize(("n_lines", "found"), [(300, set()), (301, {"comm/new.py"})])
def test_a_long_file_would_be_found(tmp_path, n_lines, found):
    (tmp_path / "comm").mkdir()
    (tmp_path / "comm" / "new.py").write_text("x = 1\n" * n_lines)
    assert too_long(tmp_path) == (found, set())


@pytest.mark.parametrize(("n_lines", "found"), [(40, set()), (41, {"new.py f"})])
def test_a_long_function_would_be_found(tmp_path, n_lines, found):
    body = '    """Say\n\n    what it does.\n    """\n' + "    x = 1\n" * n_lines
    (tmp_path / "new.py").write_text(f"class C:\n  def f():\n{body}")
    assert too_long(tmp_path) == (set(), found)
