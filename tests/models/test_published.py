"""The sizes of published networks, and the model that only has sizes."""

import numpy as np
import pytest

from course_lib.models.published import PUBLISHED, LayerSize, parameters_and_flops
from course_lib.models.stand_in import StandIn

KNOWN = {
    # Parameters as torchvision counts them (AlexNet: as in 2012, with two groups; GoogLeNet: as in
    # Caffe's model zoo), and billions of multiply-adds for one picture.
    "AlexNet": (60_965_224, 0.72),
    "VGG-A": (132_863_336, 7.61),
    "VGG-16": (138_357_544, 15.47),
    "GoogLeNet": (6_998_552, 1.58),
    "ResNet-50": (25_557_032, 4.09),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_network_has_the_size_that_is_known_of_it(name):
    n_parameters, flops = parameters_and_flops(PUBLISHED[name])
    assert n_parameters == KNOWN[name][0]
    assert flops / 6e9 == pytest.approx(KNOWN[name][1], rel=0.01)


@pytest.mark.parametrize("name", PUBLISHED)
def test_layers_have_names_of_their_own(name):
    names = [size.name for size in PUBLISHED[name]]
    assert all(names)
    assert len(set(names)) == len(names)


def test_a_stand_in_is_as_long_and_costs_as_much_as_its_layers():
    sizes = [LayerSize("first", 10, 300.0), LayerSize("second", 4, 60.0)]
    model, batch = StandIn(sizes), (np.zeros(5), np.zeros(5))
    w = model.initial()
    assert model.n_parameters == 14
    assert [layer.n_parameters for layer in model.layers] == [10, 4]
    assert model.flops(batch) == 5 * 360
    each = model.layer_flops(batch)
    assert [layer.forward for layer in each] == [500, 100]
    assert sum(layer.forward + layer.backward for layer in each) == model.flops(batch)
    assert not model.gradient(w, batch)[1].any()
    found = [(layer.name, len(grad)) for layer, grad in model.backward_layers(w, batch)]
    assert found == [("second", 4), ("first", 10)]
    passes = model.passes(w, batch)
    for layer in model.layers:
        passes.forward(layer)
    assert passes.loss() == model.loss(w, batch) == 0.0
    assert [len(passes.backward(layer)) for layer in model.layers[::-1]] == [4, 10]
    assert model.predict(w, batch[0]).shape == (5,)


def test_a_stand_in_can_be_shorter():
    model = StandIn([LayerSize("a", 1000, 1.0), LayerSize("b", 2000, 1.0)], lengths=[1, 2])
    assert [layer.part for layer in model.layers] == [slice(0, 1), slice(1, 3)]
