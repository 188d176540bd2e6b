"""Scaled losses beside PyTorch, and what `amp` says of devices and arguments."""

import copy
import pickle

import numpy as np

import funcgrad.torch as ours

from .both import same


def training(torch, say):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=3)
    say(scaler.get_scale(), scaler.state_dict(), scaler.is_enabled())
    for step in range(10):
        optimizer.zero_grad()
        loss = (w * w).sum() * (float("inf") if step == 5 else 1.0)
        scaler.scale(loss).backward()
        if step % 2:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_([w], 1.0)
        say(w.grad)
        scaler.step(optimizer)
        scaler.update()
        say(w, scaler.get_scale(), scaler.state_dict()["_growth_tracker"])
    scaler.update(2.0)
    say(scaler.get_scale())


def test_a_training_with_scaled_losses():
    same(training)


def said(torch, say):
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    half = torch.ones(2, dtype=torch.float16, requires_grad=True)
    halves = torch.optim.SGD([half], lr=0.5)
    scaler = torch.amp.GradScaler("cpu")
    for call in (
        lambda: scaler.step(optimizer), lambda: scaler.unscale_(optimizer), lambda: scaler.update(),
        lambda: scaler.scale(3), lambda: scaler.scale(w.sum()), lambda: scaler.update(),
        lambda: scaler.scale([w, (w,)]), lambda: list(scaler.scale(x for x in [w])),
        lambda: scaler.step(optimizer), lambda: scaler.scale(w.sum()).backward(),
        lambda: scaler.unscale_(optimizer), lambda: scaler.unscale_(optimizer), lambda: w.grad,
        lambda: scaler.step(optimizer), lambda: scaler.step(optimizer),
        lambda: scaler.unscale_(optimizer), lambda: pickle.dumps(scaler),
        lambda: scaler.step(optimizer, closure=1), lambda: scaler.update(torch.tensor([3.0])),
        scaler.get_scale, lambda: scaler.update(torch.ones(2)),
        lambda: scaler.scale(half.float().sum()).backward(), lambda: scaler.step(halves),
        lambda: torch.amp.GradScaler("cpu", growth_factor=1.0),
        lambda: torch.amp.GradScaler("cpu", backoff_factor=1.0),
        lambda: scaler.load_state_dict({}), lambda: torch.amp.GradScaler().is_enabled(),
        lambda: torch.amp.GradScaler("cuda", enabled=False).scale(w) is w,
        lambda: torch.cuda.amp.GradScaler(enabled=False).get_scale(),
        lambda: torch.cuda.amp.GradScaler(enabled=False).state_dict(),
        lambda: torch.cuda.amp.autocast(), lambda: torch.autocast("cuda"),
        lambda: torch.autocast("no"), lambda: torch.autocast(3),
        lambda: torch.autocast("cpu", enabled=False)(3), torch.is_autocast_enabled,
    ):  # fmt: skip
        try:
            found = call()
        except (RuntimeError, TypeError, ValueError, AssertionError) as error:
            say(type(error).__name__, error)
        else:
            say(found if isinstance(found, (bool, float, list, torch.Tensor)) else "")


def test_refusals_and_warnings():
    same(said)


def test_a_scaler_is_copied_saved_and_loaded():
    scaler = ours.GradScaler("cpu", init_scale=8.0)
    scaler.scale(ours.ones(1))
    scaler._growth_tracker.fill_(7)
    for other in (copy.deepcopy(scaler), pickle.loads(pickle.dumps(scaler))):
        assert other.state_dict() == scaler.state_dict()
        assert other.scale(ours.ones(1)).item() == 8.0
    loaded = ours.GradScaler("cpu")
    loaded.load_state_dict(scaler.state_dict())
    assert loaded.state_dict() == scaler.state_dict()


def test_functions_marked_for_autocast():
    class Square(ours.autograd.Function):
        @staticmethod
        @ours.amp.custom_fwd(device_type="cpu")
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @ours.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = ours.tensor([3.0], requires_grad=True)
    Square.apply(x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [6.0])
