"""Networks that people train: digits, a LeNet, a character LSTM, a transformer, a VAE, a GAN."""

import io
from pathlib import Path

import numpy as np
import pytest

from .compare import agree, learned

# Shakespeare, Sonnet 18 (1609), which is in the public domain
VERSES = Path(__file__).with_name("verses.txt")


def digits(t, images, labels):
    """Batches of a loader, Adam, a schedule, an early stop, and the best weights kept in a file."""
    nn, data = t.nn, t.utils.data

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(64, 32)
            self.drop = nn.Dropout(0.1)
            self.out = nn.Linear(32, 10)

        def forward(self, x):
            return self.out(self.drop(t.relu(self.hidden(x))))

    everything = data.TensorDataset(t.tensor(images), t.tensor(labels))
    train, valid = data.random_split(everything, [500, 100])
    loader = data.DataLoader(train, batch_size=25, shuffle=True)
    checks = data.DataLoader(valid, batch_size=50)
    model = Net()
    optimizer = t.optim.Adam(model.parameters(), lr=0.01)
    scheduler = t.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    criterion = nn.CrossEntropyLoss()
    losses, found, best, waited, kept = [], [], float("inf"), 0, io.BytesIO()
    for _ in range(5):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        model.eval()
        with t.no_grad():
            total = sum(criterion(model(x), y).item() * len(x) for x, y in checks)
        found.append(total / len(valid))
        if found[-1] < best - 1e-3:
            best, waited, kept = found[-1], 0, io.BytesIO()
            t.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, kept)
        else:
            waited += 1
        if waited == 2:
            break
    kept.seek(0)
    state = t.load(kept)
    other = Net()
    other.load_state_dict(state["model"])
    other.eval()
    with t.no_grad():
        right = sum((other(x).argmax(1) == y).sum().item() for x, y in checks)
    return {"loss": losses, "valid": found, "right": right, "lr": scheduler.get_last_lr(),
            "kept": state["model"], "steps": len(losses)}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_digits(dtype):
    datasets = pytest.importorskip("sklearn.datasets")
    images, labels = datasets.load_digits(return_X_y=True)
    found = agree(digits, (images[:600] / 16).astype(dtype), labels[:600], dtype=dtype)
    learned(found["loss"], 0.3)
    assert found["right"] > 80


def lenet(t):
    nn, f = t.nn, t.nn.functional

    class LeNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
            self.conv2 = nn.Conv2d(6, 16, 5)
            self.fc1 = nn.Linear(16 * 5 * 5, 120)
            self.fc2 = nn.Linear(120, 84)
            self.fc3 = nn.Linear(84, 10)

        def forward(self, x):
            x = f.max_pool2d(f.relu(self.conv1(x)), (2, 2))
            x = f.max_pool2d(f.relu(self.conv2(x)), 2)
            x = t.flatten(x, 1)
            return self.fc3(f.relu(self.fc2(f.relu(self.fc1(x)))))

    labels = t.arange(16) % 10
    images = t.randn(10, 1, 28, 28)[labels] + 0.3 * t.randn(16, 1, 28, 28)
    model = LeNet()
    optimizer = t.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    losses = []
    for _ in range(100):
        at = t.randperm(16)[:4]
        optimizer.zero_grad()
        loss = f.cross_entropy(model(images[at]), labels[at])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"loss": losses, "first": model.conv1.weight, "shown": repr(model)}


def test_lenet():
    learned(agree(lenet)["loss"], 0.7)


def character_lstm(t, text):
    """Text is learned letter by letter, and some is drawn from what was learned."""
    nn = t.nn
    letters = sorted(set(text))
    codes = t.tensor([letters.index(c) for c in text])

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(len(letters), 12)
            self.lstm = nn.LSTM(12, 24, num_layers=2, batch_first=True)
            self.out = nn.Linear(24, len(letters))

        def forward(self, x, state=None):
            y, state = self.lstm(self.embed(x), state)
            return self.out(y), state

    model = Model()
    optimizer = t.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(100):
        starts = t.randint(0, len(codes) - 17, (4,))
        rows = t.stack([codes[s : s + 17] for s in starts.tolist()])
        logits, _ = model(rows[:, :-1])
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), rows[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    said, state = [0], None
    with t.no_grad():
        for _ in range(40):
            logits, state = model(t.tensor([[said[-1]]]), state)
            chances = t.softmax(logits[0, -1] / 0.8, -1)
            said.append(t.multinomial(chances, 1).item())
    return {"loss": losses, "said": "".join(letters[c] for c in said)}


def test_character_lstm():
    learned(agree(character_lstm, VERSES.read_text())["loss"], 0.9)


def transformer(t, text):
    """A small language model: positions, a causal mask, two layers of an encoder."""
    nn = t.nn
    letters = sorted(set(text))
    codes = t.tensor([letters.index(c) for c in text])

    class Model(nn.Module):
        def __init__(self, width=16, length=12):
            super().__init__()
            self.embed = nn.Embedding(len(letters), width)
            self.place = nn.Parameter(t.zeros(length, width))
            layer = nn.TransformerEncoderLayer(
                width, 2, 32, dropout=0.1, activation="gelu", batch_first=True, norm_first=True
            )
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.norm = nn.LayerNorm(width)
            self.out = nn.Linear(width, len(letters), bias=False)
            self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

        def forward(self, x):
            h = self.encoder(self.embed(x) + self.place, mask=self.mask, is_causal=True)
            return self.out(self.norm(h))

    model = Model()
    optimizer = t.optim.AdamW(model.parameters(), lr=0.01, betas=(0.9, 0.98))
    warm = t.optim.lr_scheduler.LambdaLR(optimizer, lambda k: min(1.0, (k + 1) / 20))
    losses = []
    for _ in range(100):
        starts = t.randint(0, len(codes) - 13, (4,)).tolist()
        rows = t.stack([codes[s : s + 13] for s in starts])
        logits = model(rows[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        warm.step()
        losses.append(loss.item())
    return {"loss": losses, "names": [n for n, _ in model.named_parameters()]}


def test_transformer():
    learned(agree(transformer, VERSES.read_text())["loss"], 0.9)


def variational(t):
    """A variational autoencoder, whose noise is drawn by hand."""
    nn = t.nn

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(16, 12)
            self.mean, self.log_variance = nn.Linear(12, 3), nn.Linear(12, 3)
            self.back = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 16), nn.Sigmoid())

        def forward(self, x):
            h = t.relu(self.first(x))
            mu, logvar = self.mean(h), self.log_variance(h)
            std = t.exp(0.5 * logvar)
            z = mu + t.randn_like(std) * std
            return self.back(z), mu, logvar

    images = (t.rand(4, 16) > 0.5).double()[t.arange(32) % 4]
    model = VAE()
    optimizer = t.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(100):
        found, mu, logvar = model(images)
        entropy = nn.functional.binary_cross_entropy(found, images, reduction="sum")
        divergence = -0.5 * t.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = (entropy + divergence) / len(images)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"loss": losses}


def test_variational_autoencoder():
    learned(agree(variational)["loss"], 0.8)


def adversarial(t):
    """The loop of a DCGAN: two networks with transposed convolutions and batch norm."""
    nn = t.nn

    def weights_init(m):
        name = m.__class__.__name__
        if name.find("Conv") != -1:
            nn.init.normal_(m.weight.data, 0.0, 0.02)
        elif name.find("BatchNorm") != -1:
            nn.init.normal_(m.weight.data, 1.0, 0.02)
            nn.init.constant_(m.bias.data, 0)

    maker = nn.Sequential(
        nn.ConvTranspose2d(4, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
        nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip
    judge = nn.Sequential(
        nn.Conv2d(1, 6, 4, 2, 1, bias=False), nn.BatchNorm2d(6), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(6, 1, 4, 1, 0, bias=False), nn.Sigmoid(),
    )  # fmt: skip
    maker.apply(weights_init)
    judge.apply(weights_init)
    criterion = nn.BCELoss()
    at_judge = t.optim.Adam(judge.parameters(), lr=2e-3, betas=(0.5, 0.999))
    at_maker = t.optim.Adam(maker.parameters(), lr=2e-3, betas=(0.5, 0.999))
    real = t.sign(t.randn(1, 1, 8, 8)).repeat(6, 1, 1, 1) * 0.9
    fixed = t.randn(2, 4, 1, 1)
    losses = {"judge": [], "maker": []}
    for _ in range(25):
        judge.zero_grad()
        label = t.full((6,), 1.0)
        on_real = criterion(judge(real + 0.05 * t.randn_like(real)).view(-1), label)
        on_real.backward()
        fake = maker(t.randn(6, 4, 1, 1))
        label.fill_(0.0)
        on_fake = criterion(judge(fake.detach()).view(-1), label)
        on_fake.backward()
        at_judge.step()
        maker.zero_grad()
        label.fill_(1.0)
        by_maker = criterion(judge(fake).view(-1), label)
        by_maker.backward()
        at_maker.step()
        losses["judge"].append((on_real + on_fake).item())
        losses["maker"].append(by_maker.item())
    with t.no_grad():
        return {**losses, "made": maker(fixed), "running": judge[1].running_var}


def test_adversarial_networks():
    found = agree(adversarial)
    assert np.isfinite(found["judge"]).all()
    learned(found["judge"], 0.9)
