"""The examples on real data: each finds its reference result, draws, and prints what is shown."""

import re

import numpy as np
import pytest
from test_examples import EXAMPLES, example

# ordinary programs hold nothing that a compiled function cannot follow
pytestmark = pytest.mark.filterwarnings("error::funcgrad.CaptureWarning")

PAGE = (EXAMPLES.parent / "examples.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?")


def run(name, tmp_path, capsys):
    """What `main` returns; the picture is there, and the page shows what was printed."""
    figure = tmp_path / f"{name}.png"
    result = example(name).main(["--figure", str(figure)])
    assert figure.stat().st_size > 10_000
    printed = capsys.readouterr().out
    shown = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert any(same_but_for_last_digits(printed, block) for block in shown), printed
    return result


def same_but_for_last_digits(printed, shown):
    """The same words, and numbers that differ by two units of the last digit at most."""
    words = [" ".join(NUMBER.sub("#", text).split()) for text in (printed, shown)]
    if words[0] != words[1]:
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(shown))
    return all(abs(float(a) - float(b)) <= 2.01 * unit(b) for a, b in pairs)


def unit(number):
    """The place of the last digit."""
    mantissa, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def test_garch_agrees_with_arch(tmp_path, capsys):
    pytest.importorskip("arch")
    columns, (ours, theirs) = run("garch", tmp_path, capsys)
    estimate, other, classic, other_classic, robust, other_robust = columns
    assert ours >= theirs - 1e-8 * abs(theirs)  # no worse a maximum
    assert np.max(np.abs(estimate - other) / classic) < 1e-3  # in standard errors
    # arch takes differences of values
    np.testing.assert_allclose(classic, other_classic, rtol=2e-3)
    np.testing.assert_allclose(robust, other_robust, rtol=5e-3)
    # as published in arch's manual: mu, omega, alpha, beta, with robust standard errors
    np.testing.assert_allclose(estimate, [0.0564, 0.0175, 0.1022, 0.8852], atol=6e-5)
    np.testing.assert_allclose(robust, [0.01149, 0.004683, 0.01301, 0.01380], rtol=5e-3)


def test_nile_agrees_with_statsmodels(tmp_path, capsys):
    pytest.importorskip("statsmodels")
    value, variances, errors, level, deviation, own, given = run("nile", tmp_path, capsys)
    assert value == pytest.approx(given.llf, rel=1e-11)
    assert value >= own.llf - 1e-9 * abs(own.llf)
    np.testing.assert_allclose(variances, own.params, rtol=1e-3)
    np.testing.assert_allclose(variances, [15099, 1469.1], rtol=1e-4)  # Durbin and Koopman
    np.testing.assert_allclose(level, given.smoothed_state[0], rtol=1e-9)
    np.testing.assert_allclose(deviation**2, given.smoothed_state_cov[0, 0], rtol=1e-7)


def test_lynx_and_hare_agree_with_scipy_and_a_published_posterior(tmp_path, capsys):
    columns, (ours, theirs) = run("lynx", tmp_path, capsys)
    estimate, error, other, mean, spread = columns
    assert ours == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_allclose(estimate, other, rtol=1e-3)
    assert np.all(np.abs(estimate - mean) < 0.5 * spread)
    np.testing.assert_allclose(error, spread, rtol=0.35)
