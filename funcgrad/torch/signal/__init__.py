"""``torch.signal``: windows of signals."""

from funcgrad.torch.signal import windows as windows
