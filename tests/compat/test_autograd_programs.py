"""Programs in the manner of autograd's examples: under funcgrad they give what autograd gives.

Each is run twice, as it stands and with `autograd` in its imports replaced by
`funcgrad.compat.autograd`: nothing else is changed.
"""

import pathlib
import re
import types

import numpy as np
import pytest

import funcgrad as fg

pytestmark = pytest.mark.peers
pytest.importorskip("autograd")
pytest.importorskip("scipy")

PROGRAMS = sorted((pathlib.Path(__file__).parent / "programs").glob("*.py"))
IMPORT = re.compile(r"^(import|from) autograd", re.MULTILINE)


def loaded(path, changed):
    source = path.read_text()
    if changed:
        source = IMPORT.sub(r"\1 funcgrad.compat.autograd", source)
        source = re.sub(r"= autograd\.", "= funcgrad.compat.autograd.", source)
    module = types.ModuleType(f"{path.stem}_changed" if changed else path.stem)
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_programs_run_by_changing_the_import(path):
    wanted, found = (fg.tree.leaves(loaded(path, changed).run()) for changed in (False, True))
    assert len(found) == len(wanted) > 0
    for a, b in zip(found, wanted, strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.all(np.isfinite(a))
        np.testing.assert_allclose(a, b, rtol=2e-8, atol=1e-9 * (1 + np.max(np.abs(b))))
