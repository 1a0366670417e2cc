"""What is no network is refused by name, whatever is to be predicted on it."""

import pytest

from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.published import PUBLISHED
from course_lib.planning.cut import cut
from course_lib.planning.degrees import choose_degrees
from course_lib.planning.graph import Graph, Node
from course_lib.planning.inference import predict_replicas, predict_stages
from course_lib.planning.planner import plan, plan_by_list, plan_exhaustively
from course_lib.planning.prediction import predict
from course_lib.planning.strategy import choose_strategy

GRAPH = Graph([Node("x", n_bytes=8), Node("y", ("x",), flops=1.0)])
NET = PUBLISHED["AlexNet"]
DENSE = [layer for layer in NET if layer.name.startswith("fc")]
CHAIN = deep_mlp(8, 8, 8)
ON = {
    "plan": lambda network: plan(GRAPH, network, 2),
    "plan_by_list": lambda network: plan_by_list(GRAPH, network, 2),
    "plan_exhaustively": lambda network: plan_exhaustively(GRAPH, network, 2),
    "predict": lambda network: predict(GRAPH, {"x": 0, "y": 1}, network, 2),
    "cut": lambda network: cut(GRAPH, {"x": 0, "y": 1}, 2, network),
    "choose_strategy": lambda network: choose_strategy(NET, 512, 4, network),
    "choose_degrees": lambda network: choose_degrees(DENSE, 512, 4, network),
    "predict_replicas": lambda network: predict_replicas(CHAIN, 4, network, 2),
    "predict_stages": lambda network: predict_stages(CHAIN, 4, network, (1, 1)),
}


@pytest.mark.parametrize("network", [None, "ethernet_10g"])
@pytest.mark.parametrize("call", ON.values(), ids=ON)
def test_what_is_none_is_named(call, network):
    with pytest.raises(TypeError, match=r"^network must be a Network such as networks\.ethernet"):
        call(network)


def test_more_bytes_than_an_array_can_have_are_refused():
    with pytest.raises(ValueError, match="n_bytes of 'x' must be an int from 0 to 9,223"):
        Node("x", n_bytes=10**400)
