"""Hosts on a network of 100 Mbit/s, made on this computer: ``make cluster``."""

import argparse
import json
import shlex
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine
from cluster.launches import run_on
from cluster.losing import EPOCHS, NotAsPromised, lose_host
from cluster.network import CannotBeMade, ThrottledNetwork, why_not
from cluster.predicted import network_of, predict_all
from cluster.report import RECORDED, far_off, lines_of, load
from course_lib.costs.fit import fit_line
from course_lib.lectures.lecture_12 import undisturbed

SIZES = (1_000, 64_000, 1_000_000, 4_000_000)


def options(words: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m cluster", description=__doc__)
    parser.add_argument("--hosts", type=int, choices=(2, 4), default=4, help="how many")
    parser.add_argument("--rate", type=float, default=100.0, help="of each NIC, in Mbit/s")
    parser.add_argument("--repeats", type=int, default=5, help="of each measurement")
    parser.add_argument("--plan", action="store_true", help="only show commands and recorded run")
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.name}")
    return parser.parse_args(words)


def measured(network: ThrottledNetwork, repeats: int, folder: Path) -> dict[str, Any]:
    """Do all of it on hosts that are there."""
    file, rate = folder / "found.json", network.rate_mbit
    found: dict[str, Any] = {"machine": machine(), "rate_mbit": rate, "allreduces": []}
    between = inside = None
    for hosts, each in ((network.n_hosts, 1), (2, 2)):
        print(f"all-reduces on {hosts} hosts of {each}", flush=True)
        words = ("-m", "cluster.timing", str(file), str(each), str(repeats), *map(str, SIZES))
        run_on(network, *words, folder=folder, n_hosts=hosts, each=each)
        told = json.loads(file.read_text())
        line = fit_line(told["messages"])
        between, inside = (line, None) if each == 1 else (between, line)
        assert between is not None
        shape = network_of(rate, between, inside, each)
        rows = predict_all(shape, hosts * each, each, told["allreduces"])
        found["allreduces"] += [{"hosts": hosts, "each": each, **row} for row in rows]
        found["alpha_s"] = between.alpha_s
    print("training, by ours and by DDP", flush=True)
    run_on(network, "-m", "cluster.training", str(file), folder=folder, n_hosts=network.n_hosts)
    told = json.loads(file.read_text())
    ours, ddp = (np.array(told[name]["losses"]) for name in ("ours", "DDP"))
    if np.abs(ours - ddp).max() > 1e-12:
        raise NotAsPromised(f"losses differ by {np.abs(ours - ddp).max():g}")
    found["training"] = {name: one["step_s"] for name, one in told.items()}
    found["lost"], expected = [], undisturbed(folder, EPOCHS, network.n_hosts)
    for how in ("killed", "unplugged"):
        print(f"a host is {how}", flush=True)
        lost = lose_host(network, network.n_hosts - 1, how, folder, expected)
        found["lost"].append(lost)
    return found


def show_plan(network: ThrottledNetwork, why: str) -> int:
    """Say what would be done, and show the recorded run."""
    print(f"not run here: {why}. As root on Linux it would be\n")
    print("\n".join(shlex.join(words) for words in network.commands()))
    print("\nthen torchrun on each host, and at the end the namespaces are removed.")
    if RECORDED.exists():
        print("A recorded run:\n")
        print("\n".join(lines_of(load())))
    return 0


def main(words: list[str] | None = None) -> int:
    """Do what the words ask for; return the exit status."""
    chosen = options(words)
    network = ThrottledNetwork(chosen.hosts, chosen.rate)
    if why := "--plan was given" if chosen.plan else why_not():
        return show_plan(network, why)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with tempfile.TemporaryDirectory() as folder, network:
            found = measured(network, chosen.repeats, Path(folder))
    except CannotBeMade as error:
        return show_plan(network, str(error))
    except KeyboardInterrupt:
        print("stopped; the hosts are removed", file=sys.stderr)
        return 130
    except (NotAsPromised, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(lines_of(found)))
    if chosen.record:
        RECORDED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if far_off(found) else 0


if __name__ == "__main__":
    sys.exit(main())
