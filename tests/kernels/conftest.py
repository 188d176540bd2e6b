"""Every kernel is taken at once, whatever it costs, and small arrays go through it too."""

import pytest

from funcgrad.kernels.choice import Entry, entries


@pytest.fixture
def always(monkeypatch):
    def taken(self, size):
        return self.function is not None or self._load()

    monkeypatch.setattr(Entry, "taken", taken)
    yield
    assert not [str(e) for e in entries.values() if e.failed]
