"""What lecture 12 runs: hosts that are this computer, what crosses, checkpoints, and two roofs."""

import math
import subprocess
import sys
from functools import partial

import numpy as np
import psutil
import pytest

from course_lib import run
from course_lib.lectures import lecture_12
from course_lib.lectures.lecture_12 import in_rank
from course_lib.lectures.lecture_12.hosts import Hosts
from course_lib.lectures.lecture_12.menu import SEEDS, _of_seed
from course_lib.schemes import local_sgd
from course_lib.training import Plan


@pytest.mark.parametrize("way", lecture_12.WAYS)
def test_what_crosses_is_what_the_messages_between_hosts_hold(way):
    sent = lecture_12.between_hosts(way).trace.messages
    whole = sum(m.n_bytes for m in sent) / 65_536
    crossed = sum(lecture_12.crossing_bytes(way, host) for host in (0, 1))
    inside = sum(m.n_bytes for m in sent if m.src // 2 == m.dst // 2) / 65_536
    assert crossed + inside == pytest.approx(whole)
    assert inside > 0, "the likely mistake is to count all"


@pytest.mark.parametrize(("every", "again", "end_s"), [(2, 0, 16.5), (4, 3, 18.0), (12, 8, 21.5)])
def test_steps_since_the_last_checkpoint_are_done_again(every, again, end_s):
    trace = lecture_12.saved_training(every)
    steps = [span.label for span in trace.computes if span.label != "save"]
    assert len(steps) == 12 + again
    assert trace.end_s == pytest.approx(end_s, abs=1e-3)
    assert len(set(steps)) == 12, "nothing is left out"


@pytest.mark.parametrize(("interval_s", "save_s"), [(600.0, 60.0), (60.0, 1.0)])
def test_what_is_lost_is_what_a_simulation_of_failures_loses(interval_s, save_s):
    mean_s, rng = 3600.0, np.random.default_rng(12)
    took = 0.0
    for _ in range(20_000):  # intervals, each tried until none fails in it
        while (fails := rng.exponential(mean_s)) < interval_s + save_s:
            took += fails
        took += interval_s + save_s
    told = lecture_12.lost_factor(interval_s, save_s, mean_s)
    assert took / (20_000 * interval_s) == pytest.approx(told, rel=0.01)
    assert abs((interval_s + save_s) / interval_s - told) > 0.005, "without what is done again"


def test_the_first_of_many_fails_as_much_sooner():
    assert lecture_12.until_first_s(16_384) == pytest.approx(54 * 86_400 / 419, rel=1e-9)
    assert lecture_12.until_first_s(8) == 2048 * lecture_12.until_first_s(16_384)


def test_young_is_near_the_best_interval():
    for save_s, mean_s in ((1.0, 1e4), (60.0, 11_000.0)):
        young_s = lecture_12.best_interval_s(save_s, mean_s)
        tried = [
            lecture_12.lost_factor(young_s * x, save_s, mean_s) for x in np.geomspace(0.2, 5, 81)
        ]
        assert lecture_12.lost_factor(young_s, save_s, mean_s) - 1 < 1.02 * (min(tried) - 1)
        wrong_s = math.sqrt(save_s * mean_s)  # the factor of 2 forgotten
        assert lecture_12.lost_factor(wrong_s, save_s, mean_s) - 1 > 1.04 * (min(tried) - 1)


@pytest.mark.parametrize("gpus", [8, 16_384, 65_536])
@pytest.mark.parametrize("save", [1, 600])
def test_young_stands_on_the_chart_and_what_is_lost_is_written_as_a_number(gpus, save):
    drawn = lecture_12.interval_chart(gpus, save).chart
    ((_, minutes, percent),) = drawn["points"]
    assert drawn["x_range"][0] < minutes < drawn["x_range"][1]
    assert drawn["y_range"][0] < percent < drawn["y_range"][1]
    told = drawn["said"].removesuffix(" % more time.").split()[-1]
    assert float(told) == pytest.approx(percent, rel=0.05)
    assert "e" not in told, "1.1e+02 is no number of a lecture"


def test_the_least_batch_is_where_the_roofs_are_even():
    for device, nic in (("H100", "NVLink"), ("A100", "10 Gbit/s"), ("laptop CPU", "1 Gbit/s")):
        least = lecture_12.least_batch(device, nic)
        peak, rate = lecture_12.DEVICES[device].flops_per_s, lecture_12.NICS[nic]
        on_network = [lecture_12.flops_a_byte(b)[1] for b in (least, least - 1)]
        enough, too_few = (lecture_12.reached(flops, peak, rate) for flops in on_network)
        assert enough == peak > too_few


def test_the_roofline_says_what_bounds():
    said = [
        lecture_12.roofline_chart(*at).chart["said"]
        for at in (("laptop CPU", "NVLink", 1), ("H100", "NVLink", 1024), ("H100", "NVLink", 4096))
    ]
    for words, bound in zip(said, ("memory", "network", "Arithmetic"), strict=True):
        assert bound in words


def test_local_losses_of_the_menu_are_those_of_the_scheme():
    way, plan = lecture_12.Way("local", 4, 64, 11), Plan(0.5, batch_size=64, epochs=1, seed=1)
    scheme = partial(local_sgd, every=11)
    made = run(scheme, lecture_12.model, lecture_12.X, lecture_12.y, plan, workers=4,
               backend="simulated")  # fmt: skip
    of_seeds, batch = [_of_seed(way, 0.5, seed) for seed in SEEDS], (lecture_12.X, lecture_12.y)
    losses = of_seeds[1]
    assert lecture_12.digits_losses(way, 0.5) == tuple(np.median(of_seeds, axis=0))
    end = float(lecture_12.model.loss(made.values[0].w, batch))
    assert plan.steps_per_epoch(len(lecture_12.y)) == 22
    assert losses[22] == pytest.approx(end, rel=1e-9)
    assert abs(losses[11] - end) > 1e-3, "a round less"
    assert losses[1] == losses[0], "before an average each has a model of its own"


def reached(way, losses, network):
    return lecture_12.reached_by(way, losses, lecture_12.N_DIGITS, lecture_12.EXAMPLE_US, network,
                                 lecture_12.BUDGET_US)  # fmt: skip


@pytest.mark.soak  # the solved capstone's committed output says which are best
def test_the_network_decides_what_is_best_and_another_rate_would_move_it():
    best = [
        int(np.argmin([
            reached(way, lecture_12.digits_losses(way, rate), network)
            for way, rate in lecture_12.MENU
        ]))
        for network in lecture_12.NETWORKS_US
    ]  # fmt: skip
    assert best[0] != best[1], "else the network would not matter"
    marked = [row for row in lecture_12.menu_table(best).rows if any("←" in cell for cell in row)]
    assert len(marked) == 2
    at_half = [k for k, (_, rate) in enumerate(lecture_12.MENU) if rate == 0.5]
    for network, k in zip(lecture_12.NETWORKS_US, best, strict=True):
        way = lecture_12.MENU[k][0]
        of_half = [
            (reached(w, lecture_12.digits_losses(w, r), network), w)
            for w, r in (lecture_12.MENU[k] for k in at_half)
        ]
        assert min(of_half)[1] != way, "each at one rate would tell another story"
        ranges = [
            [reached(w, _of_seed(w, rate, seed), network) for seed in SEEDS]
            for w, rate in lecture_12.MENU
        ]
        first, second = sorted(ranges, key=np.median)[:2]
        assert max(first) > min(second), "three seeds do not decide"


@pytest.mark.soak
def test_no_other_rate_of_the_grid_makes_a_way_the_best():
    ways = dict.fromkeys(way for way, _ in lecture_12.MENU)
    for network in lecture_12.NETWORKS_US:
        of_all = {
            (way, rate): reached(way, lecture_12.digits_losses(way, rate), network)
            for way in ways
            for rate in (0.25, 0.5, 1.0, 2.0, 3.0)
        }
        assert min(of_all, key=of_all.__getitem__)[1] in lecture_12.RATES


@pytest.mark.slow
def test_a_host_that_is_killed_is_gone_with_its_ranks(tmp_path):
    (tmp_path / "script.py").write_text(
        "import time\nopen('here', 'w').write('x')\ntime.sleep(600)\n"
    )
    with Hosts("script.py", folder=tmp_path) as hosts:
        hosts.until(tmp_path / "here", "x")
        hosts.kill(1)
    left = [one for one in psutil.process_iter(["cwd"]) if one.info["cwd"] == str(tmp_path)]
    assert left == []
    assert "--node-rank=1" in hosts.commands[1]


def test_a_forked_rank_runs_what_python_would_and_returns_where_that_exits_well(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "argv", [])
    script = tmp_path / "script.py"
    script.write_text(
        "import pathlib, sys\n"
        "pathlib.Path(sys.argv[1]).write_text(f'{__name__} {sys.argv[2:]}')\n"
        "sys.exit(int(sys.argv[2]))\n"
    )
    in_rank.main([str(script), str(tmp_path / "said"), "0"])
    assert (tmp_path / "said").read_text() == "__main__ ['0']"
    with pytest.raises(SystemExit):
        in_rank.main([str(script), str(tmp_path / "said"), "3"])
    monkeypatch.syspath_prepend(tmp_path)
    in_rank.main(["-m", "script", str(tmp_path / "as_module"), "0"])
    assert (tmp_path / "as_module").read_text() == "__main__ ['0']"


def test_the_measured_table_is_of_the_recorded_run():
    rows = {row[0]: row[1:] for row in lecture_12.measured_table().rows}
    assert rows.keys() == lecture_12.WAYS.keys()
    for one in lecture_12.measured()["allreduces"]:
        if (one["each"], one["n_bytes"]) == (2, 4_000_000):
            told = rows[one["way"]][0]
            assert float(told.removesuffix(" n")) == pytest.approx(
                one["sent_bytes"] / 4e6, abs=0.01
            )


def test_the_script_begins_as_a_program_of_its_own():
    code = f"import ast; ast.parse({lecture_12.IMPORTS!r})"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert "from course_lib.schemes import data_parallel" in lecture_12.IMPORTS
