"""Random graphs, placements and networks, the same for the same number."""

from dataclasses import replace

import numpy as np

from course_lib import networks
from course_lib.planning.graph import Graph, Node


def random_graph(rng, n_nodes, *, edges=0.3, whole_numbers=False, n_bytes=(100, 100_000)):
    """Nodes in a random order of the list; whole numbers make many things happen at once."""
    nodes = []
    for k in range(n_nodes):
        inputs = tuple(f"n{j}" for j in range(k) if rng.random() < edges)
        flops = float(rng.integers(0, 4)) if whole_numbers else float(rng.uniform(0, 3))
        size = 25_000 * int(rng.integers(1, 4)) if whole_numbers else int(rng.integers(*n_bytes))
        nodes.append(Node(f"n{k}", inputs, flops=1e6 * flops, n_bytes=size))
    return Graph([nodes[k] for k in rng.permutation(n_nodes)])


def random_placement(rng, graph, workers):
    return {name: int(rng.integers(workers)) for name in graph.nodes}


def random_star(rng, workers):
    """With latency or without, and ranks of one speed or each of its own."""
    network = rng.choice(np.array([networks.ethernet_1g, networks.ethernet_10g], dtype=object))
    if rng.random() < 0.3:
        network = replace(network, latency_s=0.0)
    if rng.random() < 0.3:
        speeds = tuple(float(speed) for speed in rng.uniform(1e9, 2e10, workers))
        network = replace(network, flops_per_s=speeds)
    return network
