"""Programs in the manner of PyTorch's tutorials: data, state, sequences, ways of training."""

import io

import numpy as np
import pytest

from .compare import agree, learned


def blobs(t, count=60, classes=3, width=4):
    """Points of a few classes, which a small network can tell apart."""
    labels = t.arange(count) % classes
    return t.randn(classes, width)[labels] * 2 + 0.4 * t.randn(count, width), labels


def two_layers(t, width=4, classes=3):
    return t.nn.Sequential(t.nn.Linear(width, 8), t.nn.ReLU(), t.nn.Linear(8, classes))


def train(t, model, optimizer, x, y, steps, loss_fn=None):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (loss_fn or t.nn.functional.cross_entropy)(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def custom_data(t):
    """A data set of one's own with transforms, batches of it, and of texts of several lengths."""
    data = t.utils.data

    class Landmarks(data.Dataset):
        def __init__(self, transform=None):
            self.points = t.rand(20, 5, 2)
            self.transform = transform

        def __len__(self):
            return len(self.points)

        def __getitem__(self, at):
            sample = {"points": self.points[at].numpy(), "name": f"face-{at}", "at": at}
            return self.transform(sample) if self.transform else sample

    class Rescale:
        def __init__(self, size):
            self.size = size

        def __call__(self, sample):
            return {**sample, "points": sample["points"] * self.size}

    class ToTensor:
        def __call__(self, sample):
            return {**sample, "points": t.from_numpy(sample["points"])}

    def compose(*steps):
        def run(sample):
            for step in steps:
                sample = step(sample)
            return sample

        return run

    faces = Landmarks(compose(Rescale(10.0), ToTensor()))
    loader = data.DataLoader(faces, batch_size=6, shuffle=True, drop_last=True)
    batches = [(b["points"], b["name"], b["at"]) for b in loader]

    def padded(rows):
        return t.nn.utils.rnn.pad_sequence([t.tensor(r) for r in rows], batch_first=True)

    lines = [[1, 2, 3], [4], [5, 6], [7, 8, 9, 10]]
    texts = list(data.DataLoader(lines, batch_size=2, collate_fn=padded))
    weights = data.WeightedRandomSampler([0.1, 0.7, 0.1, 0.1], 12)
    drawn = list(data.DataLoader(t.arange(4), sampler=weights, batch_size=5))
    return {"batches": batches, "texts": texts, "drawn": drawn, "count": len(loader)}


def checkpoints(t):
    """Training that is broken off, kept, and taken up again goes on as if it had not been."""
    x, y = blobs(t)
    model = two_layers(t)
    optimizer = t.optim.Adam(model.parameters(), lr=0.02, amsgrad=True)
    scheduler = t.optim.lr_scheduler.ExponentialLR(optimizer, 0.97)
    before = []
    for _ in range(10):
        before += train(t, model, optimizer, x, y, 2)
        scheduler.step()
    kept = io.BytesIO()
    t.save(
        {
            "epoch": 10,
            "model_state_dict": model.state_dict(),
            "loss": before[-1],
            "optimizer_state_dict": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
        },
        kept,
    )
    straight = train(t, model, optimizer, x, y, 20)
    kept.seek(0)
    checkpoint = t.load(kept, weights_only=True)
    again = two_layers(t)
    other = t.optim.Adam(again.parameters(), lr=0.02, amsgrad=True)
    said = str(again.load_state_dict(checkpoint["model_state_dict"]))
    other.load_state_dict(checkpoint["optimizer_state_dict"])
    resumed = train(t, again, other, x, y, 20)
    assert straight == resumed
    return {
        "loss": before + resumed,
        "said": said,
        "epoch": checkpoint["epoch"],
        "scheduler": checkpoint["scheduler"]["last_epoch"],
    }


def transfer(t):
    """A body that was trained is frozen, and its head replaced: only the head learns."""
    x, y = blobs(t)
    model = t.nn.Sequential()
    model.add_module("body", t.nn.Sequential(t.nn.Linear(4, 8), t.nn.BatchNorm1d(8), t.nn.Tanh()))
    model.add_module("head", t.nn.Linear(8, 3))
    losses = train(t, model, t.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), x, y, 30)
    for p in model.body.parameters():
        p.requires_grad = False
    model.head = t.nn.Linear(8, 2)
    body = {k: v.clone() for k, v in model.body.state_dict().items()}
    learning = [p for p in model.parameters() if p.requires_grad]
    optimizer = t.optim.SGD(
        [{"params": learning}, {"params": model.body[0].parameters(), "lr": 1}], lr=0.1
    )
    losses += train(t, model, optimizer, x, (y > 0).long(), 40)
    after = model.body.state_dict()
    assert (after["0.weight"] == body["0.weight"]).all()
    return {
        "loss": losses,
        "count": len(learning),
        "mean": after["1.running_mean"],
        "batches": after["1.num_batches_tracked"],
        "none": [p.grad is None for p in model.body.parameters()],
    }


NAMES = {
    "it": ["rossi", "ferrari", "bianchi"],
    "en": ["smith", "jones", "brown"],
    "de": ["schulz", "vogt", "krause"],
}


def name_classification(t):
    """Names are told apart, letter by letter, by a recurrent network written by hand."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    nn = t.nn

    class RNN(nn.Module):
        def __init__(self, input_size, hidden_size, output_size):
            super().__init__()
            self.hidden_size = hidden_size
            self.i2h = nn.Linear(input_size, hidden_size)
            self.h2h = nn.Linear(hidden_size, hidden_size)
            self.h2o = nn.Linear(hidden_size, output_size)
            self.softmax = nn.LogSoftmax(dim=1)

        def forward(self, input, hidden):
            hidden = t.tanh(self.i2h(input) + self.h2h(hidden))
            return self.softmax(self.h2o(hidden)), hidden

        def first(self):
            return t.zeros(1, self.hidden_size)

    def line_to_tensor(line):
        tensor = t.zeros(len(line), 1, len(letters))
        for k, letter in enumerate(line):
            tensor[k][0][letters.find(letter)] = 1
        return tensor

    rnn, criterion = RNN(26, 12, 3), nn.NLLLoss()
    languages, losses, guesses = list(NAMES), [], []
    for k in range(100):
        category = languages[k % 3]
        line = NAMES[category][(k // 3) % 3]
        hidden = rnn.first()
        rnn.zero_grad()
        for step in line_to_tensor(line):
            output, hidden = rnn(step, hidden)
        loss = criterion(output, t.tensor([k % 3]))
        loss.backward()
        for p in rnn.parameters():
            p.data.add_(p.grad.data, alpha=-0.1)
        losses.append(loss.item())
        guesses.append(languages[output.topk(1)[1][0].item()])
    return {"loss": losses, "guesses": guesses}


def translation(t):
    """Sequences are turned round by a GRU that attends to what another one has read."""
    nn, f = t.nn, t.nn.functional

    class Attention(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.Wa, self.Ua, self.Va = (
                nn.Linear(size, size),
                nn.Linear(size, size),
                nn.Linear(size, 1),
            )

        def forward(self, query, keys):
            scores = self.Va(t.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2).unsqueeze(1)
            weights = f.softmax(scores, dim=-1)
            return t.bmm(weights, keys), weights

    class Encoder(nn.Module):
        def __init__(self, words, size):
            super().__init__()
            self.embedding = nn.Embedding(words, size)
            self.gru = nn.GRU(size, size, batch_first=True)

        def forward(self, x):
            return self.gru(self.embedding(x))

    class Decoder(nn.Module):
        def __init__(self, words, size):
            super().__init__()
            self.embedding = nn.Embedding(words, size)
            self.attention = Attention(size)
            self.gru = nn.GRU(2 * size, size, batch_first=True)
            self.out = nn.Linear(size, words)

        def forward(self, keys, hidden, target):
            word = t.zeros(len(keys), 1, dtype=t.long)
            outputs, looked = [], []
            for k in range(target.size(1)):
                context, weights = self.attention(hidden.permute(1, 0, 2), keys)
                given = t.cat((self.embedding(word), context), dim=2)
                output, hidden = self.gru(given, hidden)
                outputs.append(self.out(output))
                looked.append(weights)
                word = target[:, k].unsqueeze(1)
            return f.log_softmax(t.cat(outputs, dim=1), dim=-1), t.cat(looked, dim=1)

    source = t.randint(1, 7, (6, 4))
    target = source.flip(1)
    encoder, decoder = Encoder(7, 10), Decoder(7, 10)
    optimizers = [t.optim.Adam(m.parameters(), lr=0.02) for m in (encoder, decoder)]
    losses = []
    for _ in range(40):
        for o in optimizers:
            o.zero_grad()
        keys, hidden = encoder(source)
        output, looked = decoder(keys, hidden, target)
        loss = f.nll_loss(output.view(-1, output.size(-1)), target.view(-1))
        loss.backward()
        for o in optimizers:
            o.step()
        losses.append(loss.item())
    return {"loss": losses, "attention": looked, "said": output.argmax(-1)}


def custom_optimizer(t):
    """An optimizer of one's own, with groups, state, a closure, and a schedule on top of it."""

    class Lion(t.optim.Optimizer):
        def __init__(self, params, lr=1e-3, beta=0.9):
            if lr <= 0:
                raise ValueError(f"Invalid learning rate: {lr}")
            super().__init__(params, {"lr": lr, "beta": beta})

        @t.no_grad()
        def step(self, closure=None):
            loss = None
            if closure is not None:
                with t.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if not state:
                        state["moment"] = t.zeros_like(p)
                    m, beta = state["moment"], group["beta"]
                    p.add_(m.mul(beta).add(p.grad, alpha=1 - beta).sign_(), alpha=-group["lr"])
                    m.mul_(beta).add_(p.grad, alpha=1 - beta)
            return loss

    x, y = blobs(t)
    model = two_layers(t)
    optimizer = Lion(
        [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 5e-3}]
    )
    scheduler = t.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=50)

    def closure():
        optimizer.zero_grad()
        loss = t.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        return loss

    losses, rates = [], []
    for _ in range(60):
        losses.append(optimizer.step(closure).item())
        scheduler.step()
        rates.append(scheduler.get_last_lr())
    state = optimizer.state_dict()
    return {
        "loss": losses,
        "lr": rates,
        "groups": len(state["param_groups"]),
        "moments": [state["state"][k]["moment"] for k in range(4)],
        "shown": repr(optimizer),
    }


def schedulers(t):
    """What schedules make of a rate, one after another and together."""
    s = t.optim.lr_scheduler
    makers = {
        "multi": lambda o: s.MultiStepLR(o, [3, 6], 0.5),
        "linear": lambda o: s.LinearLR(o, 0.25, total_iters=4),
        "one cycle": lambda o: s.OneCycleLR(o, 0.5, total_steps=12),
        "restarts": lambda o: s.CosineAnnealingWarmRestarts(o, 3, 2),
        "sequential": lambda o: s.SequentialLR(
            o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [3]
        ),
        "cyclic": lambda o: s.CyclicLR(o, 0.01, 0.1, step_size_up=3),
        "chained": lambda o: s.ChainedScheduler([s.ConstantLR(o, 0.5, 4), s.ExponentialLR(o, 0.9)]),
    }
    x, y = blobs(t)
    found = {}
    for name, make in makers.items():
        t.manual_seed(1)
        model = two_layers(t)
        optimizer = t.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
        scheduler = make(optimizer)
        losses, rates = [], []
        for _ in range(11):
            losses += train(t, model, optimizer, x, y, 1)
            scheduler.step()
            rates.append(scheduler.get_last_lr()[0])
        found[name] = {"loss": losses, "lr": rates}
    plateau_of = t.optim.SGD(model.parameters(), lr=1.0)
    plateau = s.ReduceLROnPlateau(plateau_of, factor=0.5, patience=2)
    rates = []
    for value in [1.0, 0.9, 0.95, 0.95, 0.95, 0.95, 0.8, 0.8, 0.8, 0.8]:
        plateau.step(value)
        rates.append(plateau_of.param_groups[0]["lr"])
    return {"found": found, "plateau": rates}


def accumulation(t):
    """Gradients of four small batches are one of a large one; clipping keeps them short."""
    x, y = blobs(t, 64)
    model = two_layers(t)
    optimizer = t.optim.SGD(model.parameters(), lr=0.5)
    losses, norms = [], []
    for _ in range(25):
        optimizer.zero_grad()
        total = 0.0
        for a, b in zip(x.chunk(4), y.split(16), strict=True):
            loss = t.nn.functional.cross_entropy(model(a), b) / 4
            loss.backward()
            total += loss.item()
        norms.append(t.nn.utils.clip_grad_norm_(model.parameters(), 0.5).item())
        optimizer.step()
        losses.append(total)
    whole = [p.grad for p in model.parameters()]
    t.nn.utils.clip_grad_value_(model.parameters(), 0.01)
    vector = t.nn.utils.parameters_to_vector(model.parameters())
    return {"loss": losses, "norms": norms, "clipped": whole, "vector": vector}


def distillation(t):
    """A small network learns from the softened answers of a large one."""
    f = t.nn.functional
    x, y = blobs(t)
    teacher = t.nn.Sequential(
        t.nn.Linear(4, 24), t.nn.GELU(), t.nn.Dropout(0.2), t.nn.Linear(24, 3)
    )
    before = train(t, teacher, t.optim.AdamW(teacher.parameters(), lr=0.02), x, y, 30)
    teacher.eval()
    student = t.nn.Linear(4, 3)
    optimizer = t.optim.Adam(student.parameters(), lr=0.05)
    losses, heat = [], 2.0
    for _ in range(40):
        with t.no_grad():
            soft = teacher(x)
        logits = student(x)
        loss = f.kl_div(
            f.log_softmax(logits / heat, -1), f.softmax(soft / heat, -1), reduction="batchmean"
        ) * heat**2 * 0.5 + 0.5 * f.cross_entropy(logits, y, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"teacher": before, "loss": losses}


def averaged(t):
    """Weights averaged over the last steps, and their batch norm brought up to date."""
    x, y = blobs(t)
    model = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.BatchNorm1d(8), t.nn.ReLU(), t.nn.Linear(8, 3))
    average = t.optim.swa_utils.AveragedModel(model)
    optimizer = t.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for k in range(30):
        losses += train(t, model, optimizer, x, y, 1)
        if k >= 20:
            average.update_parameters(model)
    t.optim.swa_utils.update_bn([x[:30], x[30:]], average)
    average.eval()
    return {"loss": losses, "average": average(x[:5]), "count": average.n_averaged}


def pruning_by_masks(t):
    """Small weights are masked out by a hook on the gradient and a buffer, and stay so."""
    x, y = blobs(t)

    class Masked(t.nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer
            self.register_buffer("mask", t.ones_like(layer.weight))
            layer.weight.register_hook(lambda g: g * self.mask)

        def prune(self, share):
            size = self.layer.weight.detach().abs()
            self.mask.copy_((size > size.flatten().quantile(share)).to(size.dtype))
            self.layer.weight.data.mul_(self.mask)

        def forward(self, x):
            return self.layer(x)

    model = t.nn.Sequential(Masked(t.nn.Linear(4, 8)), t.nn.Tanh(), t.nn.Linear(8, 3))
    optimizer = t.optim.RMSprop(model.parameters(), lr=0.01, momentum=0.5)
    losses = train(t, model, optimizer, x, y, 20)
    model[0].prune(0.4)
    losses += train(t, model, optimizer, x, y, 30)
    return {"loss": losses, "weight": model[0].layer.weight, "names": list(model.state_dict())}


def contrast(t):
    """Two views of the same rows are brought together: cosines of all pairs, as in SimCLR."""
    f = t.nn.functional
    rows = t.randn(8, 6)
    net = t.nn.Sequential(t.nn.Linear(6, 16), t.nn.LayerNorm(16), t.nn.SiLU(), t.nn.Linear(16, 4))
    optimizer = t.optim.NAdam(net.parameters(), lr=0.01)
    losses = []
    for _ in range(40):
        views = t.cat([rows + 0.1 * t.randn_like(rows) for _ in range(2)])
        z = f.normalize(net(views), dim=1)
        scores = (z @ z.T / 0.5).masked_fill(t.eye(16, dtype=t.bool), float("-inf"))
        loss = f.cross_entropy(scores, t.arange(16).roll(8))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"loss": losses}


def policy(t):
    """REINFORCE on a row of ten places, whose far end is the aim."""
    net = t.nn.Sequential(t.nn.Linear(10, 8), t.nn.ReLU(), t.nn.Linear(8, 2), t.nn.Softmax(dim=-1))
    optimizer = t.optim.Adam(net.parameters(), lr=0.05)
    losses, lengths = [], []
    for _ in range(20):
        place, logs, rewards = 4, [], []
        while 0 < place < 9 and len(logs) < 30:
            chances = net(t.eye(10)[place])
            action = t.multinomial(chances, 1).item()
            logs.append(chances[action].log())
            place += 1 if action else -1
            rewards.append(1.0 if place == 9 else -0.05)
        returns, total = [], 0.0
        for r in reversed(rewards):
            total = r + 0.9 * total
            returns.insert(0, total)
        scaled = t.tensor(returns)
        scaled = (scaled - scaled.mean()) / (scaled.std(unbiased=False) + 1e-6)
        loss = t.stack([-a * b for a, b in zip(logs, scaled, strict=True)]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        lengths.append(len(logs))
    return {"steps": lengths, "all": losses}


LEARNING = [
    checkpoints,
    transfer,
    name_classification,
    translation,
    custom_optimizer,
    accumulation,
    distillation,
    averaged,
    pruning_by_masks,
    contrast,
]
OTHERS = [custom_data, schedulers, policy]


@pytest.mark.parametrize("program", LEARNING, ids=lambda f: f.__name__)
def test_a_program_of_a_tutorial_learns_as_with_pytorch(program):
    learned(agree(program)["loss"], 0.95)


@pytest.mark.parametrize("program", OTHERS, ids=lambda f: f.__name__)
def test_a_program_of_a_tutorial_finds_the_same(program):
    assert np.size(agree(program))
