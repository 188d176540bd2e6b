"""Fit two classifiers to the UCI optical digits: from one command to held-out accuracy.

    python docs/examples/digits.py

Multinomial logistic regression is fitted by SciPy's L-BFGS with funcgrad's exact gradient, a
two-layer network by Adam. The loss is written once against `funcgrad.numpy` and once as plain
NumPy; both give the same gradient. Figures are saved beside this file's working directory as
`digits.png`.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from tqdm import tqdm

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import optim

matplotlib.use("Agg")  # draws to a file, also where there is no screen
import matplotlib.pyplot as plt


def load(seed=0):
    """Training and held-out images (n × 64, in [0, 1]) and labels."""
    data = load_digits()
    order = np.random.default_rng(seed).permutation(len(data.target))
    images, labels = data.data[order] / 16.0, data.target[order]
    return images[:1347], labels[:1347], images[1347:], labels[1347:]


def cross_entropy(scores, labels):
    """Mean negative log likelihood of the labels, against funcgrad.numpy."""
    top = fnp.max(scores, axis=1, keepdims=True)
    log_total = fnp.log(fnp.sum(fnp.exp(scores - top), axis=1)) + top[:, 0]
    return fnp.mean(log_total - scores[fnp.arange(len(labels)), labels])


def cross_entropy_plain(scores, labels):
    """The same in plain NumPy."""
    top = np.max(scores, axis=1, keepdims=True)
    log_total = np.log(np.sum(np.exp(scores - top), axis=1)) + top[:, 0]
    return np.mean(log_total - scores[np.arange(len(labels)), labels])


def linear_loss(w, images, labels, entropy=cross_entropy):
    """Multinomial logistic regression with a small ridge; w is 65 × 10, the last row a bias."""
    return entropy(images @ w[:-1] + w[-1], labels) + 1e-4 * (w * w).sum()


def network(parameters, images):
    """Scores of a network with one hidden layer."""
    hidden = np.tanh(images @ parameters["w1"] + parameters["b1"])
    return hidden @ parameters["w2"] + parameters["b2"]


def network_loss(parameters, images, labels):
    decay = (parameters["w1"] ** 2).sum() + (parameters["w2"] ** 2).sum()
    return cross_entropy(network(parameters, images), labels) + 1e-4 * decay


def accuracy(scores, labels):
    return float(np.mean(np.argmax(scores, axis=1) == labels))


def fit_linear(images, labels):
    """L-BFGS on the exact gradient; returns the weights and the loss after every step."""
    value_and_grad = fg.value_and_grad(linear_loss)
    curve = []

    def objective(flat):
        value, gradient = value_and_grad(flat.reshape(65, 10), images, labels)
        return value, gradient.ravel()

    with tqdm(desc="logistic regression, L-BFGS", unit="step") as bar:

        def report(flat):
            curve.append(float(linear_loss(flat.reshape(65, 10), images, labels)))
            bar.update()
            bar.set_postfix(loss=f"{curve[-1]:.4f}")

        found = minimize(
            objective, np.zeros(650), jac=True, method="L-BFGS-B", callback=report,
            options={"maxiter": 200},
        )  # fmt: skip
    return found.x.reshape(65, 10), curve


def fit_network(images, labels, epochs=40, seed=0):
    """Adam on batches of 64; returns the parameters and the mean loss of every epoch."""
    rng = np.random.default_rng(seed)
    parameters = {
        "w1": rng.normal(0, 1 / 8, (64, 64)),
        "b1": np.zeros(64),
        "w2": rng.normal(0, 1 / 8, (64, 10)),
        "b2": np.zeros(10),
    }
    optimizer = optim.adam(3e-3)
    state, curve = optimizer.init(parameters), []
    value_and_grad = fg.value_and_grad(network_loss)
    for _ in (bar := tqdm(range(epochs), desc="two-layer network, Adam", unit="epoch")):
        order, losses = rng.permutation(len(labels)), []
        for batch in np.array_split(order, len(labels) // 64):
            loss, gradient = value_and_grad(parameters, images[batch], labels[batch])
            updates, state = optimizer.update(gradient, state)
            parameters = optim.apply_updates(parameters, updates)
            losses.append(float(loss))
        curve.append(float(np.mean(losses)))
        bar.set_postfix(loss=f"{curve[-1]:.4f}")
    return parameters, curve


def draw(path, curves, scores, labels):
    """Loss curves, and the confusion matrix of the network."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for name, curve in curves.items():
        left.semilogy(np.arange(1, len(curve) + 1), curve, label=name)
    left.set(xlabel="step or epoch", ylabel="training loss (nats)", title="Loss")
    left.legend()
    confusion = np.zeros((10, 10), int)
    np.add.at(confusion, (labels, np.argmax(scores, axis=1)), 1)
    right.imshow(confusion, cmap="Blues")
    for i, j in np.argwhere(confusion):
        color = "white" if confusion[i, j] > 20 else "black"
        right.text(j, i, confusion[i, j], ha="center", va="center", color=color)
    right.set(
        xlabel="predicted", ylabel="true", xticks=range(10), yticks=range(10),
        title="Held-out digits, two-layer network",
    )  # fmt: skip
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40, help="of the network (default 40)")
    parser.add_argument("--figure", type=Path, default=Path("digits.png"), help="where to draw")
    options = parser.parse_args(arguments)
    images, labels, held_images, held_labels = load()

    w = np.random.default_rng(1).normal(size=(65, 10))
    ours = fg.grad(linear_loss)(w, images, labels)
    plain = fg.grad(linear_loss)(w, images, labels, cross_entropy_plain)
    print("funcgrad.numpy and plain NumPy give the same gradient:", np.array_equal(ours, plain))

    weights, linear_curve = fit_linear(images, labels)
    linear_scores = held_images @ weights[:-1] + weights[-1]
    parameters, network_curve = fit_network(images, labels, options.epochs)
    scores = network(parameters, held_images)
    results = {
        "logistic regression": accuracy(linear_scores, held_labels),
        "two-layer network": accuracy(scores, held_labels),
    }
    for name, value in results.items():
        print(f"{name}: held-out accuracy {value:.4f} on {len(held_labels)} digits")
    curves = {"logistic regression": linear_curve, "two-layer network": network_curve}
    draw(options.figure, curves, scores, held_labels)
    print(f"loss curves and confusion matrix: {options.figure}")
    return results


if __name__ == "__main__":
    main()
