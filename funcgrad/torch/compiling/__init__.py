"""``torch.compile``: training steps and models as compiled programs."""
