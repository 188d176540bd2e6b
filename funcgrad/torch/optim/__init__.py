"""Optimisers with PyTorch's names, and schedules of their rates."""

from funcgrad.torch.optim import lr_scheduler
from funcgrad.torch.optim.adam import Adam, AdamW
from funcgrad.torch.optim.adaptive import Adagrad, RMSprop
from funcgrad.torch.optim.lbfgs import LBFGS
from funcgrad.torch.optim.optimizer import Optimizer
from funcgrad.torch.optim.sgd import SGD

__all__ = ["LBFGS", "SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
