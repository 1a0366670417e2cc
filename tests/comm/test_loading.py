"""Something is done in the moment in which a module has been loaded."""

import importlib.util
import sys

import pytest

from course_lib.comm.ambient.loading import WhenLoaded


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return the file of a module that can be imported."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "late_one.py").write_text("")
    yield tmp_path / "late_one.py"
    sys.modules.pop("late_one", None)


def test_it_is_done_once_and_before_the_importer_goes_on(module):
    module.write_text("drawn = 3\n")
    finders, told = [*sys.meta_path], []

    def then(loaded):
        told.append(loaded.drawn)
        loaded.drawn = 4

    WhenLoaded("late_one", then)
    import late_one

    assert late_one.drawn == 4
    assert told == [3]
    assert sys.meta_path == finders
    assert "exec_module" not in vars(late_one.__spec__.loader)


def test_a_module_that_fails_is_waited_for_and_one_that_is_forgotten_is_not(module):
    module.write_text("raise ImportError('not yet')\n")
    finders, told = [*sys.meta_path], []
    waiting = WhenLoaded("late_one", told.append)
    with pytest.raises(ImportError, match="not yet"):
        import late_one
    module.write_text("drawn = 'and this is another text, of another length'\n")
    import late_one

    assert told == [late_one]
    del sys.modules["late_one"]
    waiting = WhenLoaded("late_one", told.append)
    waiting.forget()
    waiting.forget()
    import late_one

    assert len(told) == 1
    assert sys.meta_path == finders


def test_a_folder_without_code_and_a_question_load_nothing(module):
    (module.parent / "only_a_folder").mkdir()
    told = []
    for name in ("only_a_folder", "late_one"):
        waiting = WhenLoaded(name, told.append)
        assert importlib.util.find_spec(name) is not None
        waiting.forget()
    assert told == []


def test_two_that_wait_for_the_same_are_both_told(module):
    module.write_text("drawn = 3\n")
    finders, told = [*sys.meta_path], []
    WhenLoaded("late_one", lambda loaded: told.append(("first", loaded.drawn)))
    WhenLoaded("late_one", lambda loaded: told.append(("second", loaded.drawn)))
    import late_one

    assert sorted(told) == [("first", 3), ("second", 3)]
    assert sys.meta_path == finders
    assert "exec_module" not in vars(late_one.__spec__.loader)
