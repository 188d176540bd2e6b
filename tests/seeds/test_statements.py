"""What the tutorials say in passing, each statement as a test that PyTorch itself passes too.

The classes are the five tutorials: what is a leaf and what is kept; the meaning of ``grad`` and
``grad_fn``; the graph of operations; repeated passes, hooks, `clone` and `detach`; leaves, freed
graphs and in-place changes.
"""

import inspect
import warnings

import pytest

NON_LEAF = "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"
SECOND_PASS = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)


def refused(action, kind=RuntimeError):
    """The text of the error that `action` raises."""
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)


def grad_without_warning(x):
    """The gradient of a tensor that may be no leaf."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x.grad


class TestLeavesAndWhatIsKept:
    @pytest.mark.parametrize("flag", [True, False])
    def test_what_depends_on_no_tensor_is_a_leaf(self, torch, flag):
        assert torch.tensor(1.0, requires_grad=flag).is_leaf

    def test_what_depends_on_tensors_without_grad_is_a_leaf(self, torch):
        b, c = torch.tensor(1.0), torch.tensor(1.0)
        assert (b + c).is_leaf
        assert ((b + c) * b).is_leaf

    @pytest.mark.parametrize("order", [1, -1])
    def test_one_operand_with_grad_makes_a_non_leaf(self, torch, order):
        a, b = [torch.tensor(1.0, requires_grad=True), torch.tensor(1.0)][::order]
        assert not (a + b).is_leaf

    def test_backward_where_nothing_requires_grad_is_an_error(self, torch):
        e = torch.tensor(1.0) + torch.tensor(1.0)
        assert refused(e.backward) == (
            "element 0 of tensors does not require grad and does not have a grad_fn"
        )

    def test_a_leaf_that_requires_no_grad_gets_none(self, torch):
        a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(1.0)
        (a + b).backward()
        assert a.grad.item() == 1.0
        assert b.grad is None

    def test_detach_gives_a_tensor_that_requires_no_grad(self, torch):
        d = (torch.tensor(1.0, requires_grad=True) + 1).detach()
        assert not d.requires_grad
        assert d.is_leaf

    def test_a_gradient_arrives_by_the_path_that_is_left(self, torch):
        a = torch.tensor(1.0, requires_grad=True)
        cut, kept = (a * 5).detach(), a * 7
        (cut + kept).backward()
        assert a.grad.item() == 7.0

    def test_no_gradient_arrives_where_all_paths_are_cut(self, torch):
        a, c = (torch.tensor(1.0, requires_grad=True) for _ in range(2))
        ((a + 1).detach() + c).backward()
        assert a.grad is None
        assert c.grad.item() == 1.0

    def test_an_intermediate_gradient_is_computed_though_not_kept(self, torch):
        a = torch.tensor(1.0, requires_grad=True)
        d = a * 3
        seen = []
        d.register_hook(seen.append)
        (d * 2).backward()
        assert [g.item() for g in seen] == [2.0]  # it was needed for a's, by the chain rule
        assert a.grad.item() == 6.0
        assert grad_without_warning(d) is None

    def test_retain_grad_keeps_the_gradient_of_what_stays_a_non_leaf(self, torch):
        d = torch.tensor(1.0, requires_grad=True) + torch.tensor(1.0)
        d.retain_grad()
        d.backward()
        assert not d.is_leaf
        assert d.grad.item() == 1.0

    def test_parameters_are_leaves_that_require_grad_by_default(self, torch):
        parameter = torch.nn.Parameter(torch.zeros(2))
        assert parameter.requires_grad
        assert parameter.is_leaf
        net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
        assert all(p.is_leaf and p.requires_grad for p in net.parameters())
        assert all(type(p) is torch.nn.Parameter for p in net.parameters())

    def test_parameters_of_all_layers_keep_gradients_and_a_step_uses_them(self, torch):
        net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        before = [p.detach().clone() for p in net.parameters()]
        net(torch.ones(5, 3)).sum().backward()
        torch.optim.SGD(net.parameters(), lr=0.5).step()
        for old, p in zip(before, net.parameters(), strict=True):
            assert torch.equal(p.detach(), old - 0.5 * p.grad)

    def test_parameters_above_a_cut_get_no_gradient(self, torch):
        first, second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
        second(first(torch.ones(5, 3)).detach()).sum().backward()
        assert [p.grad for p in first.parameters()] == [None, None]
        assert all(p.grad is not None for p in second.parameters())


class TestGradAndGradFn:
    def graph(self, torch):
        x = torch.ones(2, 2, requires_grad=True)
        y = x + 2
        z = y * y * 3
        return x, y, z, z.mean()

    def test_the_graph_prints_the_operation_that_made_each_result(self, torch):
        x, y, z, out = self.graph(torch)
        assert repr(z) == ("tensor([[27., 27.],\n        [27., 27.]], grad_fn=<MulBackward0>)")
        assert repr(out) == "tensor(27., grad_fn=<MeanBackward0>)"

    def test_grad_is_the_partial_derivative_at_the_initial_value(self, torch):
        x, y, z, out = self.graph(torch)
        assert x.grad is None  # before the pass
        out.backward()
        assert repr(x.grad) == "tensor([[4.5000, 4.5000],\n        [4.5000, 4.5000]])"

    def test_the_derivative_is_the_product_along_the_chain(self, torch):
        x, y, z, out = self.graph(torch)
        grad = torch.autograd.grad
        (out_z,) = grad(out, z, retain_graph=True)
        (z_y,) = grad(z, y, torch.ones(2, 2), retain_graph=True)
        (y_x,) = grad(y, x, torch.ones(2, 2), retain_graph=True)
        assert out_z[0, 0].item() == 1 / 4
        assert z_y[0, 0].item() == 6 * y[0, 0].item()
        assert y_x[0, 0].item() == 1.0
        (whole,) = grad(out, x)
        assert torch.equal(whole, out_z * z_y * y_x)

    def test_requires_grad_is_false_by_default(self, torch):
        assert not torch.ones(2, 2).requires_grad
        assert not torch.tensor(1.0).requires_grad

    def test_one_input_that_requires_grad_makes_all_results_do(self, torch):
        x, y, z, out = self.graph(torch)
        assert x.requires_grad and y.requires_grad and z.requires_grad and out.requires_grad

    def test_grad_of_a_non_leaf_warns_at_the_line_of_the_access_and_is_none(self, torch):
        x, y, z, out = self.graph(torch)
        out.backward()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            line = inspect.currentframe().f_lineno + 1
            found = y.grad
        assert found is None
        (warning,) = caught
        assert warning.category is UserWarning
        assert str(warning.message).startswith(NON_LEAF)
        assert "use .retain_grad() on the non-leaf Tensor" in str(warning.message)
        assert (warning.filename, warning.lineno) == (__file__, line)

    def test_each_access_warns(self, torch):
        x, y, z, out = self.graph(torch)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert (y.grad, z.grad, out.grad) == (None, None, None)
        assert len(caught) == 3

    def test_grad_of_a_leaf_and_of_what_retains_it_do_not_warn(self, torch):
        x, y, z, out = self.graph(torch)
        y.retain_grad()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert x.grad is None
            assert y.grad is None
            assert torch.ones(1).grad is None

    def test_a_leaf_is_no_result_so_its_grad_fn_is_none(self, torch):
        x, y, z, out = self.graph(torch)
        assert x.is_leaf and x.grad_fn is None
        assert not y.is_leaf and type(y.grad_fn).__name__ == "AddBackward0"


class TestTheGraphOfOperations:
    def graph(self, torch):
        w = torch.tensor([1.0], requires_grad=True)
        x = torch.tensor([2.0], requires_grad=True)
        a = torch.add(w, x)
        b = torch.add(w, 2)
        return w, x, a, b, torch.mul(a, b)

    def test_a_variable_that_is_used_twice_gets_the_sum(self, torch):
        w, x, a, b, y = self.graph(torch)
        y.backward()
        assert repr(w.grad) == "tensor([6.])"
        assert repr(x.grad) == "tensor([3.])"
        assert w.grad.item() == a.item() + b.item()

    def test_a_tensor_of_one_element_needs_no_argument_to_backward(self, torch):
        *_, y = self.graph(torch)
        assert y.shape == (1,)
        y.backward()

    def test_functions_and_operators_give_the_same(self, torch):
        w, x, a, b, y = self.graph(torch)
        assert torch.equal(y, (w + x) * (w + 2))
        assert repr(a.grad_fn).startswith("<AddBackward0")
        assert repr(y.grad_fn).startswith("<MulBackward0")

    @pytest.mark.parametrize(
        "make",
        [
            lambda torch: torch.tensor([1], requires_grad=True),
            lambda torch: torch.tensor([True], requires_grad=True),
            lambda torch: torch.ones(2, dtype=torch.int64, requires_grad=True),
            lambda torch: torch.zeros(2, dtype=torch.int32, requires_grad=True),
        ],
    )
    def test_only_floating_point_can_require_grad(self, torch, make):
        assert refused(lambda: make(torch)) == (
            "Only Tensors of floating point and complex dtype can require gradients"
        )

    def test_an_integer_tensor_cannot_be_switched_to_require_grad(self, torch):
        assert refused(torch.tensor([1]).requires_grad_) == (
            "only Tensors of floating point dtype can require gradients"
        )

    @pytest.mark.parametrize("name", ["float16", "float32", "float64", "complex64", "complex128"])
    def test_floating_point_and_complex_can(self, torch, name):
        made = torch.ones(1, dtype=getattr(torch, name), requires_grad=True)
        assert made.requires_grad

    def test_is_leaf_tells_what_the_user_made_from_what_was_computed(self, torch):
        assert [t.is_leaf for t in self.graph(torch)] == [True, True, False, False, False]

    def test_backward_of_any_non_leaf_goes_back_to_the_leaves(self, torch):
        w, x, a, b, y = self.graph(torch)
        a.backward()
        assert (w.grad.item(), x.grad.item()) == (1.0, 1.0)

    def test_only_leaves_have_gradients_afterwards(self, torch):
        tensors = self.graph(torch)
        tensors[-1].backward()
        assert [grad_without_warning(t) is None for t in tensors] == [
            False, False, True, True, True,
        ]  # fmt: skip


class TestRepeatedPasses:
    def graph(self, torch):
        from importlib import import_module

        variable = import_module(f"{torch.__name__}.autograd").Variable
        x = variable(torch.ones(2, 2), requires_grad=True)
        return x, x + 2

    def test_variable_makes_a_tensor(self, torch):
        x, _ = self.graph(torch)
        assert isinstance(x, torch.Tensor)
        assert type(x) is torch.Tensor
        assert x.is_leaf and x.requires_grad

    def test_an_input_that_requires_grad_is_a_leaf_that_collects(self, torch):
        net = torch.nn.Linear(2, 1)
        x = torch.ones(1, 2, requires_grad=True)
        net(x).backward()
        assert torch.equal(x.grad, net.weight.detach())

    def test_else_only_the_parameters_collect(self, torch):
        net, x = torch.nn.Linear(2, 1), torch.ones(1, 2)
        net(x).backward()
        assert x.grad is None
        assert all(p.grad is not None for p in net.parameters())

    def test_the_gradient_of_a_leaf_adds_up(self, torch):
        x, y = self.graph(torch)
        out = (y * y * 3).mean()
        for times in (1, 2, 3):
            out.backward(retain_graph=True)
            assert x.grad[0, 0].item() == 4.5 * times

    def test_it_adds_up_in_the_same_tensor(self, torch):
        x, y = self.graph(torch)
        out = (y * y * 3).mean()
        out.backward(retain_graph=True)
        held = x.grad
        out.backward()
        assert x.grad is held
        assert held[0, 0].item() == 9.0

    def test_it_does_not_add_up_when_it_is_cleared_between(self, torch):
        x, y = self.graph(torch)
        out = (y * y * 3).mean()
        for _ in range(3):
            x.grad = None
            out.backward(retain_graph=True)
            assert x.grad[0, 0].item() == 4.5

    def test_a_hook_sees_a_fresh_gradient_each_time(self, torch):
        x, y = self.graph(torch)
        seen = []
        y.register_hook(lambda g: seen.append(g[0, 0].item()))
        out = (y * y * 3).mean()
        for _ in range(3):
            out.backward(retain_graph=True)
        assert seen == [4.5, 4.5, 4.5]

    def test_a_hook_that_prints_returns_none_and_changes_nothing(self, torch, capsys):
        x, y = self.graph(torch)
        y.register_hook(print)
        (y * y * 3).mean().backward()
        assert capsys.readouterr().out == (
            "tensor([[4.5000, 4.5000],\n        [4.5000, 4.5000]])\n"
        )
        assert x.grad[0, 0].item() == 4.5

    def test_what_retain_grad_keeps_adds_up_out_of_place(self, torch):
        x, y = self.graph(torch)
        y.retain_grad()
        out = (y * y * 3).mean()
        out.backward(retain_graph=True)
        first = y.grad
        out.backward()
        assert first[0, 0].item() == 4.5
        assert y.grad[0, 0].item() == 9.0

    def net(self, torch):
        net = torch.nn.Linear(2, 1)
        x = torch.ones(1, 2, requires_grad=True)
        net(x).backward()
        return net, x

    @pytest.mark.parametrize("clear", ["optimizer", "model"])
    def test_zero_grad_clears_the_parameters_only(self, torch, clear):
        net, x = self.net(torch)
        if clear == "model":
            net.zero_grad()
        else:
            torch.optim.SGD(net.parameters(), lr=0.1).zero_grad()
        assert [p.grad for p in net.parameters()] == [None, None]
        assert torch.equal(x.grad, net.weight.detach())

    @pytest.mark.parametrize("clear", ["optimizer", "model"])
    def test_zero_grad_can_write_zeros_into_the_gradients(self, torch, clear):
        net, x = self.net(torch)
        held = net.weight.grad
        target = net if clear == "model" else torch.optim.SGD(net.parameters(), lr=0.1)
        target.zero_grad(set_to_none=False)
        assert net.weight.grad is held
        assert held.tolist() == [[0.0, 0.0]]

    def test_an_optimizer_clears_only_the_parameters_that_it_was_given(self, torch):
        net, _ = self.net(torch)
        torch.optim.SGD([net.weight], lr=0.1).zero_grad()
        assert net.weight.grad is None
        assert net.bias.grad is not None

    def test_the_gradient_of_an_input_is_cleared_by_code_of_its_own(self, torch):
        net, x = self.net(torch)
        x.grad.zero_()
        net(x).backward()
        assert torch.equal(x.grad, net.weight.detach())

    def test_gradients_of_parameters_are_read_in_a_loop(self, torch):
        net, _ = self.net(torch)
        assert [tuple(f.grad.shape) for f in net.parameters()] == [(1, 2), (1,)]

    def test_clone_passes_the_gradient_on(self, torch):
        x, y = self.graph(torch)
        seen = []
        y.register_hook(lambda g: seen.append(g[0, 0].item()))
        h = y.clone()
        assert h.grad_fn.name() == "CloneBackward0"
        out = (h * h * 3).mean()
        for _ in range(3):
            out.backward(retain_graph=True)
        assert seen == [4.5, 4.5, 4.5]
        assert x.grad[0, 0].item() == 13.5

    def test_clone_copies_the_values(self, torch):
        _, y = self.graph(torch)
        h = y.clone()
        with torch.no_grad():
            h.fill_(0.0)
        assert y[0, 0].item() == 3.0

    def test_each_of_two_clones_sends_a_gradient_and_they_add_up(self, torch):
        x, y = self.graph(torch)
        seen = []
        y.register_hook(lambda g: seen.append(g[0, 0].item()))
        one, two = y.clone(), y.clone()
        (one * one * 3 + two * two * 3).mean().backward()
        assert seen == [9.0]

    def test_detach_stops_the_gradient_and_backward_is_an_error(self, torch):
        x, y = self.graph(torch)
        seen = []
        y.register_hook(seen.append)
        h = y.detach()
        out = (h * h * 3).mean()
        assert refused(lambda: out.backward(retain_graph=True)) == (
            "element 0 of tensors does not require grad and does not have a grad_fn"
        )
        assert not seen
        assert x.grad is None


class TestFreedGraphsAndInPlaceChanges:
    def graph(self, torch, saving=False):
        a = torch.tensor([[2.0, 1.0]], requires_grad=True)
        b = torch.tensor([[1.0, 1.0]], requires_grad=True)
        c = a * 3
        d = b + 4
        e = c * d if saving else c + d
        return a, b, c, d, e, torch.mean(e)

    def test_leaves_stand_at_the_beginning(self, torch):
        tensors = self.graph(torch)
        assert [t.is_leaf for t in tensors] == [True, True, False, False, False, False]
        assert [t.grad_fn is None for t in tensors] == [True, True, False, False, False, False]

    def test_the_first_pass_leaves_none_in_the_non_leaves(self, torch):
        tensors = self.graph(torch)
        tensors[-1].backward()
        found = [grad_without_warning(t) for t in tensors]
        assert repr(found[:2]) == "[tensor([[1.5000, 1.5000]]), tensor([[0.5000, 0.5000]])]"
        assert found[2:] == [None] * 4

    def test_retain_grad_on_several(self, torch):
        tensors = self.graph(torch)
        for t in tensors[2:]:
            t.retain_grad()
        tensors[-1].backward()
        assert [t.grad.tolist() for t in tensors] == [
            [[1.5, 1.5]], [[0.5, 0.5]], [[0.5, 0.5]], [[0.5, 0.5]], [[0.5, 0.5]], 1.0,
        ]  # fmt: skip

    @pytest.mark.parametrize("saving", [False, True])
    def test_a_second_pass_is_refused_with_the_way_out(self, torch, saving):
        *_, f = self.graph(torch, saving)
        f.backward()
        assert refused(f.backward) == SECOND_PASS

    @pytest.mark.parametrize("saving", [False, True])
    def test_retain_graph_is_the_way_out(self, torch, saving):
        a, *_, f = self.graph(torch, saving)
        f.backward(retain_graph=True)
        f.backward()
        assert a.grad.tolist() == ([[15.0, 15.0]] if saving else [[3.0, 3.0]])

    def test_retain_grad_does_not_retain_the_graph(self, torch):
        a, b, c, d, e, f = self.graph(torch)
        for t in (c, d, e, f):
            t.retain_grad()
        f.backward()
        assert refused(f.backward) == SECOND_PASS

    def test_a_refused_pass_adds_nothing(self, torch):
        a, b, c, *_, f = self.graph(torch)
        c.retain_grad()
        f.backward()
        assert refused(f.backward) == SECOND_PASS
        if torch.__name__ == "funcgrad.torch":  # PyTorch has changed half of the gradients by then
            assert c.grad.tolist() == [[0.5, 0.5]]
            assert a.grad.tolist() == [[1.5, 1.5]]

    def test_an_in_place_change_of_a_leaf_is_refused_at_once(self, torch):
        a, *_, f = self.graph(torch)
        assert refused(lambda: a.__setitem__(0, 100)) == (
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )
        assert a.tolist() == [[2.0, 1.0]]  # nothing was changed
        f.backward()  # and the graph is as good as before
        assert a.grad.tolist() == [[1.5, 1.5]]

    def test_so_is_one_of_the_whole_leaf(self, torch):
        a = torch.tensor([[2.0, 1.0]], requires_grad=True)
        assert refused(lambda: a.add_(1)) == (
            "a leaf Variable that requires grad is being used in an in-place operation."
        )

    def changed(self, torch):
        a = torch.tensor([[2.0, 1.0]], requires_grad=True)
        b = a**3
        c = b**2
        d = torch.mean(c)
        b[0][0] = 100.0
        return d

    def test_an_in_place_change_of_a_saved_intermediate_is_refused_by_backward(self, torch):
        d = self.changed(torch)
        text = refused(d.backward)
        assert text == (
            "one of the variables needed for gradient computation has been modified by an inplace "
            "operation: [torch.FloatTensor [1, 2]], which is output 0 of torch::autograd::"
            "CopySlices, is at version 1; expected version 0 instead. Hint: enable anomaly "
            "detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False)."
        )

    def test_the_hint_leads_to_the_line_of_the_forward_pass(self, torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with torch.autograd.set_detect_anomaly(True, check_nan=False):
                text = refused(self.changed(torch).backward)
        assert "modified by an inplace operation" in text
        assert "the backtrace further above shows the operation that failed" in text
        source, first = inspect.getsourcelines(self.changed)
        line = first + next(k for k, row in enumerate(source) if "c = b**2" in row)
        (told,) = [str(w.message) for w in caught if "Error detected in" in str(w.message)]
        assert "Error detected in PowBackward0" in told
        assert f"{__file__}" in told and f"{line}" in told

    def test_an_in_place_change_that_no_gradient_needs_is_no_error(self, torch):
        a = torch.tensor([[2.0, 1.0]], requires_grad=True)
        c = a * 3 + 2
        d = torch.mean(c)
        c[0][0] = 100.0
        d.backward()
        assert a.grad.tolist() == [[1.5, 1.5]]
        assert repr(c) == "tensor([[100.,   5.]], grad_fn=<CopySlices>)"

    def test_what_was_saved_is_given_back_by_the_pass(self, torch):
        *_, e, f = self.graph(torch, saving=True)
        assert e.grad_fn._saved_self is not None
        f.backward()
        assert refused(lambda: e.grad_fn._saved_self) == SECOND_PASS
