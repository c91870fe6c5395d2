"""Proofs beside those of Sollya, whose supnorm bounds the error of a polynomial."""

import math
import os
from fractions import Fraction

import numpy as np
import pytest

import anchorhead
from anchorhead.enclosure.expressions import ONE
from anchorhead.enclosure.parts import Part
from anchorhead.enclosure.reading import entries_of, exact, read_target
from anchorhead.proof.search import Effort, covering
from peers.sollya import AbsentError, Sollya, SollyaError, located, numbers

WITHIN = 1.1
"""No proof, ours or Sollya's, is further above what is attained."""

CASES = {
    "sin(3*x)": (lambda x: np.sin(3 * x), 1e-12),
    "exp(x)": (np.exp, 1e-12),
    "1/(1 + 25*x**2)": (lambda x: 1 / (1 + 25 * x * x), 2e-4),
}
"""The target as a text, as a function, and the error asked of its network."""


@pytest.fixture(scope="session")
def sollya():
    try:
        return Sollya(located())
    except AbsentError as why:
        pytest.skip(str(why))


@pytest.fixture(scope="session", params=CASES)
def case(request, sollya):
    """A target's text, its network, and the polynomial of least degree that is as accurate."""
    f, (target, error) = request.param, CASES[request.param]
    network = anchorhead.compile(target, (-1, 1), error)
    return f, network, sollya.least(f, network.certificate.approximation)


def enclosed(coefficients, f, budget=200_000):
    """Our bounds of sup |p − f|: attained, and proven."""
    p = " + ".join(f"{c!r}*x**{i}" for i, c in enumerate(coefficients) if c)
    target = {"variables": ["x"], "where": [], "outputs": [f"{p} - {f}"]}
    (error,), _ = read_target(target, entries_of([(exact(-1.0), exact(1.0))]))
    part = Part(error, ((exact(-1), exact(1)),), (((0, ONE),),))
    found = covering(part, 1 + 2**-7, math.inf, Effort(budget))
    return found.attained, found.bound


def tight(low, high):
    return 0 < low <= high <= WITHIN * low


def overlap(one, other):
    return one[0] <= other[1] and other[0] <= one[1]


def test_a_network_is_proven_as_tightly_as_a_polynomial_as_accurate(case, sollya):
    f, network, polynomial = case
    certificate, (low, high) = network.certificate, sollya.norm(polynomial, f)
    assert certificate.proven
    assert tight(certificate.attained, certificate.approximation)
    assert tight(low, high)
    assert high <= certificate.approximation
    degree = len(polynomial) - 1
    assert sollya.norm(sollya.best(f, degree - 1), f)[0] > certificate.approximation
    print(
        f"{f}: {network.size.anchors} anchors, [{certificate.attained:.4g}, "
        f"{certificate.approximation:.4g}]; degree {degree}, [{float(low):.4g}, {float(high):.4g}]"
    )


def test_both_bound_the_same_polynomial_alike(case, sollya):
    f, _, polynomial = case
    ours, theirs = enclosed(polynomial, f), sollya.norm(polynomial, f)
    assert tight(*ours)
    assert tight(*theirs)
    assert overlap(ours, theirs)


def test_they_do_not_agree_about_two_polynomials(case, sollya):
    f, _, polynomial = case
    ours, theirs = enclosed(polynomial, f), sollya.norm(polynomial, f)
    step = ours[1] / 20  # sup |e + step| or sup |e − step| is sup |e| + step
    moved = [[polynomial[0] + by, *polynomial[1:]] for by in (step, -step)]
    assert not all(overlap(enclosed(p, f), theirs) for p in moved)
    assert not all(overlap(ours, sollya.norm(p, f)) for p in moved)


def test_a_search_that_is_cut_short_is_not_tight(case):
    f, network, polynomial = case
    target, _ = CASES[f]
    assert not tight(*enclosed(polynomial, f, budget=1))
    less = network.certificate.cells - 2  # of about twice so many that it looked at
    stopped = anchorhead.certify(network, target, (-1, 1), budget=less)
    assert not stopped.complete
    assert not tight(stopped.attained, stopped.approximation)


def test_what_sollya_displays_is_read_exactly():
    assert numbers("3 -1b-3 0 5b2") == [3, Fraction(-1, 8), 0, 20]
    for line in ("error", "", "1 / 3", "nan", "[1;2]", "0x1.8p3", "1.5"):
        with pytest.raises(SollyaError):
            numbers(line)


def test_what_sollya_cannot_do_is_an_error(sollya):
    unbounded = "p = supnorm(x, 1/x, [-1; 1], absolute, 1)"
    for script in ("print(error)", "p = remez(sin(x)", unbounded, "print(1/3)"):
        with pytest.raises(SollyaError):
            sollya.run(script)


def test_why_sollya_is_absent_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(AbsentError, match="apt-get install sollya"):
        located()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(AbsentError, match="only root"):
        located()
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    (tmp_path / "apt-get").write_text("#!/bin/sh\necho no network >&2\nexit 100\n")
    (tmp_path / "apt-get").chmod(0o755)
    with pytest.raises(AbsentError, match="no network"):
        located()
