"""Train three networks on the UCI optical digits as PyTorch code, and draw their loss curves.

    python docs/examples/training.py
    python docs/examples/training.py --beside torch     draws PyTorch's curves, too

A LeNet, a transformer that reads an image row by row, and a variational autoencoder. The figure is
saved as `training.png`.
"""

import argparse
import importlib
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import funcgrad.torch

matplotlib.use("Agg")  # draws to a file, also where there is no screen
import matplotlib.pyplot as plt


def load(t):
    """Training and held-out images (n × 8 × 8, in [0, 1]) and labels, as tensors."""
    data = load_digits()
    images = t.tensor(data.images / 16.0, dtype=t.float32)
    labels = t.tensor(data.target)
    return (images[:1347], labels[:1347]), (images[1347:], labels[1347:])


def lenet(t):
    """Two convolutions, each with pooling, and two layers of units."""
    nn = t.nn
    return nn.Sequential(
        nn.Unflatten(1, (1, 8)),
        nn.Conv2d(1, 12, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(96, 48),
        nn.ReLU(),
        nn.Linear(48, 10),
    )


def transformer(t):
    """The eight rows of an image are the words of a sentence."""
    nn = t.nn

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Linear(8, 32)
            self.places = nn.Parameter(0.1 * t.randn(8, 32))
            layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.out = nn.Linear(32, 10)

        def forward(self, x):
            return self.out(self.layers(self.embed(x) + self.places).mean(1))

    return Transformer()


def autoencoder(t):
    """A variational autoencoder with two numbers in its middle."""
    nn = t.nn

    class Autoencoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))
            self.decode = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64))

        def forward(self, x):
            mean, log_deviation = self.encode(x.flatten(1)).chunk(2, dim=1)
            z = mean + log_deviation.exp() * t.randn_like(mean)
            return self.decode(z), mean, log_deviation

    return Autoencoder()


def entropy(t, scores, images, labels):
    """The loss of a classifier, in nats."""
    return t.nn.functional.cross_entropy(scores, labels)


def bound(t, made, images, labels):
    """The negative lower bound of an image's likelihood, in nats."""
    logits, mean, log_deviation = made
    f = t.nn.functional
    error = f.binary_cross_entropy_with_logits(logits, images.flatten(1), reduction="sum")
    divergence = 0.5 * (mean**2 + (2 * log_deviation).exp() - 2 * log_deviation - 1).sum()
    return (error + divergence) / len(images)


PROGRAMS = {
    "LeNet": (lenet, entropy),
    "transformer": (transformer, entropy),
    "variational autoencoder": (autoencoder, bound),
}


def fit(t, name, epochs):
    """The mean loss of every epoch, and that of the held-out digits."""
    make, loss_of = PROGRAMS[name]
    t.manual_seed(0)
    train, (held_images, held_labels) = load(t)
    model = make(t)
    optimizer = t.optim.AdamW(model.parameters(), lr=3e-3)
    steps = epochs * -(-len(train[1]) // 64)
    schedule = t.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=steps)
    data = t.utils.data
    loader = data.DataLoader(data.TensorDataset(*train), batch_size=64, shuffle=True)
    curve, held = [], []
    for _ in tqdm(range(epochs), desc=f"{name}, {t.__name__}", unit="epoch"):
        losses = []
        for images, labels in loader:
            optimizer.zero_grad()
            loss = loss_of(t, model(images), images, labels)
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        curve.append(float(np.mean(losses)))
        with t.no_grad():
            held.append(loss_of(t, model(held_images), held_images, held_labels).item())
    return curve, held


def draw(path, ours, theirs):
    """The curves of each network, in a figure of their own."""
    figure, parts = plt.subplots(1, len(ours), figsize=(11, 3.6), layout="constrained")
    for axes, (name, (curve, held)) in zip(parts, ours.items()):
        epochs = np.arange(1, len(curve) + 1)
        axes.plot(epochs, curve, label="training")
        axes.plot(epochs, held, label="held out")
        for k, line in enumerate(theirs.get(name, ())):
            style = {"color": "black", "linestyle": ":", "marker": ".", "markevery": 2}
            axes.plot(epochs, line, label="" if k else "PyTorch", **style)
        axes.set(xlabel="epoch", ylabel="loss (nats)", title=name)
        axes.xaxis.get_major_locator().set_params(integer=True)  # there is no half epoch
        if PROGRAMS[name][1] is entropy:
            axes.set_yscale("log")
        axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=15, help="of training (default 15)")
    parser.add_argument("--figure", type=Path, default=Path("training.png"), help="where to draw")
    parser.add_argument("--beside", help="a module that trains the same networks: torch")
    options = parser.parse_args(arguments)
    ours = {name: fit(funcgrad.torch, name, options.epochs) for name in PROGRAMS}
    theirs = {}
    if options.beside:
        module = importlib.import_module(options.beside)
        theirs = {name: fit(module, name, options.epochs) for name in PROGRAMS}
    for name, (curve, held) in ours.items():
        print(f"{name}: {curve[0]:.3f} to {curve[-1]:.3f} nats, held out {held[-1]:.3f}")
    for name, curves in theirs.items():
        apart = np.max(np.abs(np.subtract(ours[name], curves)) / np.abs(curves))
        print(f"{name}: both curves differ by {apart:.1g} of their value at most")
    draw(options.figure, ours, theirs)
    print(f"loss curves: {options.figure}")
    return ours


if __name__ == "__main__":
    main()
