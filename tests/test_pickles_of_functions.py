"""Every public function is pickled and copied as itself: a model may hold it."""

import copy
import importlib
import pickle

import numpy as np
import pytest

import funcgrad as fg

MODULES = [
    *("funcgrad", "funcgrad.numpy", "funcgrad.lax", "funcgrad.lax.linalg", "funcgrad.nn"),
    *("funcgrad.random", "funcgrad.optim", "funcgrad.tree", "funcgrad.debug", "funcgrad.testing"),
    *("funcgrad.image", "funcgrad.scipy.linalg", "funcgrad.scipy.signal", "funcgrad.scipy.special"),
    *("funcgrad.torch", "funcgrad.torch.fft", "funcgrad.torch.func", "funcgrad.torch.linalg"),
    *("funcgrad.torch.nn", "funcgrad.torch.nn.functional", "funcgrad.torch.special"),
]
NOT_BY_NAME = {"Schedule", "KeyPath", "test", "LinAlgError", "typename"}  # types, and NumPy's own
SCIPYS = {"assoc_laguerre", "h1vp", "h2vp", "ivp", "jvp", "kvp", "yvp"}  # its functions, wrapped


@pytest.mark.parametrize("module", MODULES)
def test_public_functions_are_pickled_by_name(module):
    space = importlib.import_module(module)
    for name in set(dir(space)) - NOT_BY_NAME - (SCIPYS if module.endswith("special") else set()):
        found = getattr(space, name)
        if name.startswith("_") or name.endswith("Tensor"):  # these are PyTorch's old types
            continue
        if callable(found) and not isinstance(found, type):
            assert pickle.loads(pickle.dumps(found)) is found, name
            assert copy.deepcopy(found) is found


def test_what_holds_them_is_pickled():
    gradient = pickle.loads(pickle.dumps(fg.vmap(fg.grad(fg.numpy.sin))))
    assert gradient(fg.numpy.zeros(2)).tolist() == [1.0, 1.0]
    layer = fg.torch.nn.TransformerEncoderLayer(4, 2, 8, activation=fg.torch.nn.functional.gelu)
    again = pickle.loads(pickle.dumps(layer))
    assert again.activation is fg.torch.nn.functional.gelu


def test_a_graph_is_copied_as_itself_and_says_what_to_pickle():
    graph = fg.make_graph(np.sin)(1.0)
    assert copy.copy(graph) is graph
    assert copy.deepcopy(graph) is graph
    for take in (pickle.dumps, lambda g: pickle.dumps({"graph": g}, 2)):
        with pytest.raises(TypeError, match=r"call make_graph there, or keep the text.*\n.*pickle"):
            take(graph)
