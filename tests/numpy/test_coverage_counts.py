"""The table of the page on coverage: in no module a peer has more names with a derivative."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

count_peers = pytest.importorskip("count_peers")


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
def test_no_peer_has_more_names_of_a_module():
    for peer in count_peers.PEERS:
        pytest.importorskip(peer)
    for module, row in count_peers.counts().items():
        assert row["funcgrad"] > 0 and row["funcgrad"] >= max(row.values()), module


def test_what_is_counted_is_what_supports_says():
    found = count_peers.names("numpy")
    assert {"sin", "einsum", "sort"} <= set(found) and not {"argsort", "floor"} & set(found)
    assert {"norm", "zscore"} <= set(count_peers.names("scipy.stats"))
    assert "CubicSpline" in count_peers.names("scipy.interpolate")
