"""``python -m course_lib search``, as people call it."""

import os
import signal

import pytest

from course_lib.cli import search
from course_lib.cli.search import main


def printed(words, capsys):
    assert main(words.split()) == 0
    *rows, best = capsys.readouterr().out.splitlines()
    return [row.split() for row in rows[1:] if row.split()[:1] and row.split()[0].isdigit()], best


@pytest.mark.slow
def test_each_method_searches_and_the_same_words_find_the_same(capsys):
    found = {}
    for method, n_trainings, epochs in (("random", 6, 18), ("halving", 8, 12), ("asha", 8, 12)):
        words = f"--method {method} --trials 6 --epochs 3 --backend simulated --workers 4"
        rows, best = printed(words, capsys)
        assert len(rows) >= n_trainings
        if method != "asha":
            assert f"{n_trainings} trainings, {epochs} epochs, " in best
        assert printed(words, capsys) == (rows, best)
        assert printed(f"{words} --seed 1", capsys)[0] != rows
        found[method] = best
    losses = {method: float(best.split("loss ")[1].split()[0]) for method, best in found.items()}
    assert losses["random"] <= min(losses.values())  # it has trained all of them to the end
    assert losses["random"] < 1.0  # a guess among ten classes has 2.3


@pytest.mark.slow
def test_processes_find_what_the_simulator_finds(capsys):
    words = "--method halving --trials 3 --epochs 3 --workers 3"
    real, simulated = (printed(w, capsys)[1] for w in (words, f"{words} --backend simulated"))
    assert real.split(",")[:3] == simulated.split(",")[:3]


@pytest.mark.slow
def test_a_search_survives_a_killed_worker(capsys, monkeypatch, tmp_path):
    words = "--method halving --trials 3 --epochs 3 --workers 3"
    expected = printed(f"{words} --backend simulated", capsys)[1]
    whole = search._task()

    def dies_once(comm, numbers, epochs):
        try:
            (tmp_path / "killed").touch(exist_ok=False)
        except FileExistsError:  # one has been killed
            return whole(comm, numbers, epochs)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(search, "_task", lambda: dies_once)
    assert main(words.split()) == 0
    found = capsys.readouterr()
    assert found.out.splitlines()[-1].split(",")[:3] == expected.split(",")[:3]
    assert "was killed by SIGKILL" in found.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--method grid", "--method knows random, halving, asha; not 'grid'"),
        ("--trials 0", "--trials takes whole numbers of 1 or more, got '0'"),
        ("--eta 1", "--eta takes whole numbers of 2 or more, got '1'"),
        ("--least 10", "--least must be no more than --epochs 9, got 10"),
        ("--workers 1", "--workers takes whole numbers of 2 or more, got '1'"),
        ("--network wan", "--network is for --backend simulated"),
        ("--time-limit 0", "--time-limit takes seconds above 0, got 0"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_started(words, told, capsys):
    with pytest.raises(SystemExit) as refused:
        main(words.split())
    assert refused.value.code == 2
    assert told in capsys.readouterr().err
