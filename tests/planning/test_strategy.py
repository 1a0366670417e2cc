"""The strategy that is chosen by sizes is the fastest of those that are run."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.published import PUBLISHED, LayerSize
from course_lib.planning.sized_steps import SizedStep, data_step, hybrid_step, layer_sizes
from course_lib.planning.strategy import (
    STRATEGIES,
    choose_strategy,
    compare_strategies,
    run_strategy,
)

GPU_FLOPS_PER_S = 5e12
NETWORKS = [
    replace(network, flops_per_s=GPU_FLOPS_PER_S)
    for network in (
        networks.ethernet_1g, networks.ethernet_10g, networks.infiniband_hdr, networks.wan
    )
]  # fmt: skip
DEEP_MLP = layer_sizes(deep_mlp(784, *[2048] * 16, 10))
NETS = {name: PUBLISHED[name] for name in ("AlexNet", "VGG-A", "GoogLeNet")} | {
    "deep MLP": DEEP_MLP
}


@pytest.mark.slow
def test_the_chosen_strategy_is_the_fastest_of_those_run_for_16_pairs():
    found = compare_strategies(NETS, NETWORKS, batch=512, workers=4)
    print(found)
    assert len(found.rows) == 16
    for _, choice, ran_s in found.rows:
        assert ran_s[choice.name] <= 1.05 * min(ran_s.values())
        for name in STRATEGIES:  # short messages stand for long ones: their lengths are rounded
            assert choice.seconds[name] == pytest.approx(ran_s[name], rel=1e-2)
    assert {choice.name for _, choice, _ in found.rows} == set(STRATEGIES)
    # Whoever always takes the same one is ten times as far outside somewhere.
    for name in STRATEGIES:
        worst = max(ran_s[name] / min(ran_s.values()) for _, _, ran_s in found.rows)
        assert worst > 1.5
    lost = [found.lost_by_data(row) for row in range(16)]
    assert min(lost) == 0
    assert max(lost) > 10
    assert str(found).count("\n") == 17
    assert f"{max(lost):.0%}" in str(found)
    assert found._repr_html_().count("<tr>") == 17


@given(
    net=st.sampled_from(list(NETS)),
    network=st.sampled_from(NETWORKS),
    batch=st.integers(16, 1024),
    workers=st.integers(2, 8),
    flops_per_s=st.sampled_from([1e11, 1e12, 2e13]),
)
@settings(max_examples=25, deadline=None)
@pytest.mark.slow
def test_the_chosen_strategy_is_the_fastest_for_any_batch_and_workers(
    net, network, batch, workers, flops_per_s
):
    network = replace(network, flops_per_s=flops_per_s)
    choice = choose_strategy(NETS[net], batch, workers, network)
    ran_s = {name: run_strategy(choice, name) for name in STRATEGIES}
    assert ran_s[choice.name] <= 1.05 * min(ran_s.values())


def bytes_a_worker(program, workers):
    step = SizedStep(PUBLISHED["AlexNet"], 128 * workers)
    short, network = step.shortened(networks.ethernet_10g)
    trace = run(
        program, short, workers=workers, backend="simulated", network=network, rendezvous=True
    ).trace
    sent = np.array(trace.bytes_sent()) / short.scale
    assert sent == pytest.approx(np.full(workers, sent[0]))
    return sent[0]


@pytest.mark.parametrize("workers", [2, 4, 8])
def test_the_bytes_of_alexnet_are_those_that_its_layers_say(workers):
    """Pure data parallelism, and the hybrid with fc6 to fc8 split; 128 examples a worker."""
    share = (workers - 1) / workers
    conv = sum(layer.n_parameters for layer in PUBLISHED["AlexNet"][:5])
    fc = sum(layer.n_parameters for layer in PUBLISHED["AlexNet"][5:])
    assert (conv, fc) == (2_334_080, 58_631_144)
    data = 2 * share * 4 * (conv + fc)
    exchanged = 128 * workers * (9_216 + 4_096 + 4_096)  # there and back; fc8's outputs stay
    hybrid = 2 * share * 4 * (conv + exchanged)
    assert bytes_a_worker(data_step, workers) == pytest.approx(data, rel=1e-2)
    assert bytes_a_worker(hybrid_step, workers) == pytest.approx(hybrid, rel=1e-2)
    assert round(data / hybrid, 1) == {2: 9.0, 4: 5.4, 8: 3.0}[workers]


def test_layers_say_what_comes_in_and_which_are_fully_connected():
    for name, net in PUBLISHED.items():
        connected = [layer for layer in net if layer.is_fully_connected]
        assert [layer.name.startswith("fc") for layer in net] == [
            layer in connected for layer in net
        ], name
        for layer in connected:
            n_out = layer.n_parameters - round(layer.flops / 6)
            assert layer.n_parameters == layer.n_inputs * n_out + n_out
        assert net[0].n_inputs == 3 * 224**2
    assert [layer.n_inputs for layer in PUBLISHED["AlexNet"]][5:] == [9_216, 4_096, 4_096]
    assert PUBLISHED["VGG-A"][-3].n_inputs == 25_088
    # What an inception module makes is what the next one gets: after pooling a quarter of it.
    inputs = {layer.name: layer.n_inputs for layer in PUBLISHED["GoogLeNet"]}
    made = (192 + 208 + 48 + 64) * 14**2
    assert inputs["inception4b"] == made
    assert inputs["inception5a"] == (256 + 320 + 128 + 128) * 7**2
    assert [layer.n_inputs for layer in DEEP_MLP] == [784, *[2048] * 16]


@pytest.mark.parametrize("workers", [1, 3, 5])
def test_workers_that_divide_nothing_are_predicted_too(workers):
    for net in (PUBLISHED["AlexNet"], DEEP_MLP[:4]):
        choice = choose_strategy(net, 50, workers, NETWORKS[0])
        for name in STRATEGIES:
            assert run_strategy(choice, name) == pytest.approx(choice.seconds[name], rel=2e-2)
    if workers == 1:
        assert max(choice.seconds.values()) == pytest.approx(min(choice.seconds.values()))


def test_what_cannot_be_chosen_for_is_refused_by_name():
    net, network = PUBLISHED["AlexNet"], NETWORKS[0]
    with pytest.raises(ValueError, match="layers must be one or more, got none"):
        choose_strategy([], 8, 2, network)
    with pytest.raises(ValueError, match="n_inputs of fc must be an int of 1 or more, got 0"):
        choose_strategy([LayerSize("fc", 10, 60.0)], 8, 2, network)
    with pytest.raises(ValueError, match="batch must be an int of 1 or more, got 0"):
        choose_strategy(net, 0, 2, network)
    with pytest.raises(ValueError, match="workers must be an int of 1 or more, got 0"):
        choose_strategy(net, 8, 0, network)
    with pytest.raises(ValueError, match="network must be one in which any two ranks are conn"):
        choose_strategy(net, 8, 2, networks.ring(network))
    with pytest.raises(ValueError, match="name must be one of data, model, hybrid, got 'both'"):
        run_strategy(choose_strategy(net, 8, 2, network), "both")
