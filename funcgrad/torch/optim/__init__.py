"""Optimisers with PyTorch's names, and schedules of their rates."""

from funcgrad.torch.absent import absent
from funcgrad.torch.optim import lr_scheduler, swa_utils
from funcgrad.torch.optim.adam import Adam, AdamW
from funcgrad.torch.optim.adam_variants import Adamax, NAdam, RAdam
from funcgrad.torch.optim.adaptive import Adadelta, Adagrad, RMSprop
from funcgrad.torch.optim.averaged import ASGD
from funcgrad.torch.optim.lbfgs import LBFGS
from funcgrad.torch.optim.matrices import Adafactor, Muon
from funcgrad.torch.optim.optimizer import Optimizer
from funcgrad.torch.optim.rprop import Rprop
from funcgrad.torch.optim.sgd import SGD

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
    "swa_utils",
]

absent(__name__)
