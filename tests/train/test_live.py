"""The bar of a training, on a real terminal."""

import os
import select
import sys

import pytest

from course_lib.train.beacon import Beacon
from course_lib.train.live import shown
from course_lib.train.row import Row


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_bar_and_table_follow_what_rank_0_writes_and_its_file_is_gone_afterwards(
    monkeypatch, capsys
):
    import fcntl
    import pty
    import struct
    import termios

    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with os.fdopen(terminal, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with shown(
            lambda row: f"after epoch {row.epoch}", lambda row: f"{row.epoch} {row.loss}", True
        ) as file:
            beacon = Beacon(file)
            beacon.shine(7, 46)
            for n_steps in range(8, 46):  # too soon after the last: dropped
                beacon.shine(n_steps, 46)
            beacon.shine(46, 46, Row(2, 0.5, 0.9, 1.0))
            assert len(file.read_text().splitlines()) <= 4
        told = ""
        while "after epoch 2" not in told:  # a terminal hands on what is written when it can
            assert select.select([screen], [], [], 30)[0], told
            told += os.read(screen, 100_000).decode()
    os.close(screen)
    assert "46/46" in told
    assert told.rstrip().endswith("after epoch 2")
    assert not file.parent.exists()
    assert capsys.readouterr().out == "2 0.5\n"


def test_nobody_looks_nothing_is_written(capsys):
    with shown(str, str, is_shown=False) as file:
        assert file is None
        Beacon(file).shine(1, 10)
    assert capsys.readouterr() == ("", "")
