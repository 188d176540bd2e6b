"""Train a classifier of the UCI optical digits as PyTorch code: only the import line is funcgrad's.

    python docs/examples/digits_torch.py

A network with one hidden layer is trained by Adam on shuffled batches with a falling learning
rate. The program prints the held-out accuracy, and saves the loss curve as `digits_torch.png` and
the parameters as `digits_torch.pt`, which PyTorch can load, too.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import funcgrad.torch as torch

matplotlib.use("Agg")  # draws to a file, also where there is no screen
import matplotlib.pyplot as plt


def load(torch=torch, seed=0):
    """Training and held-out images (n × 64, in [0, 1]) and labels, as tensors."""
    data = load_digits()
    order = np.random.default_rng(seed).permutation(len(data.target))
    images = torch.tensor(data.data[order] / 16.0, dtype=torch.float32)
    labels = torch.tensor(data.target[order])
    return images[:1347], labels[:1347], images[1347:], labels[1347:]


def network(torch=torch, hidden=64):
    """Scores of the ten digits from 64 pixels."""
    nn = torch.nn
    return nn.Sequential(nn.Linear(64, hidden), nn.Tanh(), nn.Linear(hidden, 10))


def batches(count, size, rng):
    """The examples in random order, in batches."""
    return np.array_split(rng.permutation(count), count // size)


def train_step(model, loss_function, optimizer, images, labels):
    """One step of the optimizer; returns the loss before it."""
    optimizer.zero_grad()
    loss = loss_function(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def fit(model, images, labels, epochs=40, seed=0, torch=torch):
    """The mean loss of every epoch."""
    loss_function = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=15, gamma=0.5)
    rng, curve = np.random.default_rng(seed), []
    model.train()
    for _ in (bar := tqdm(range(epochs), desc="two-layer network, Adam", unit="epoch")):
        losses = [
            train_step(model, loss_function, optimizer, images[batch], labels[batch])
            for batch in map(torch.tensor, batches(len(labels), 64, rng))
        ]
        scheduler.step()
        curve.append(float(np.mean(losses)))
        bar.set_postfix(loss=f"{curve[-1]:.4f}")
    return curve


def accuracy(model, images, labels, torch=torch):
    """The share of images whose highest score is that of their label."""
    model.eval()
    with torch.no_grad():
        return (model(images).argmax(dim=1) == labels).float().mean().item()


def draw(path, curve):
    """The loss curve."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.semilogy(np.arange(1, len(curve) + 1), curve)
    axes.set(xlabel="epoch", ylabel="training loss (nats)", title="Digits, two-layer network")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40, help="of training (default 40)")
    parser.add_argument("--figure", type=Path, default=Path("digits_torch.png"), help="the curve")
    parser.add_argument("--model", type=Path, default=Path("digits_torch.pt"), help="parameters")
    options = parser.parse_args(arguments)
    images, labels, held_images, held_labels = load()
    torch.manual_seed(0)
    model = network()
    print(model)
    curve = fit(model, images, labels, options.epochs)
    value = accuracy(model, held_images, held_labels)
    print(f"held-out accuracy {value:.4f} on {len(held_labels)} digits")
    draw(options.figure, curve)
    torch.save(model.state_dict(), options.model)
    print(f"loss curve: {options.figure}; parameters: {options.model}")
    return value


if __name__ == "__main__":
    main()
