"""Sollya (sollya.org) as a process: best polynomials and proven sup norms on [-1, 1], exact numbers."""

import os
import re
import shutil
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path

ACCURACY = "2^(-7)"
"""How far apart, relatively, the ends of Sollya's enclosures may be."""

PIECES = 16
"""[-1, 1] is handed over in so many pieces: whole, 1/(1+25x²) takes it minutes, not a second."""

PATIENCE = 300
"""Seconds after which a process is given up."""

SETTINGS = "display = dyadic!; prec = 165!;"


class AbsentError(Exception):
    """Why there is no Sollya."""


class SollyaError(Exception):
    """What Sollya said instead of numbers."""


def located():
    """The path of Sollya, which CI installs where it can."""
    if shutil.which("sollya") is None and os.environ.get("CI") == "true":
        _install()
    path = shutil.which("sollya")
    if path is None:
        raise AbsentError("sollya is absent; apt-get install sollya")
    return path


def _install():
    if getattr(os, "geteuid", lambda: -1)() != 0 or shutil.which("apt-get") is None:
        raise AbsentError("sollya is absent, and only root with apt-get could install it")
    import fcntl  # not on Windows

    quietly = {"check": True, "capture_output": True, "text": True, "timeout": PATIENCE}
    quietly["env"] = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with (Path(tempfile.gettempdir()) / "anchorhead-sollya.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the workers of pytest-xdist take turns
        if shutil.which("sollya") is not None:
            return
        try:
            subprocess.run(["apt-get", "update"], **quietly)
            install = ["apt-get", "install", "-y", "--no-install-recommends", "sollya"]
            subprocess.run(install, **quietly)
        except (subprocess.SubprocessError, OSError) as error:
            said = (getattr(error, "stderr", None) or "")[-300:]
            raise AbsentError(f"sollya is absent and cannot be installed: {error} {said}") from None


def numbers(line):
    """A line of numbers as Sollya displays them in dyadic: 3, or 3b-2 for 3/4."""
    found = [re.fullmatch(r"(-?\d+)(?:b([+-]?\d+))?", word) for word in line.split()]
    if not found or None in found:
        raise SollyaError(f"{line!r} where numbers were asked for")
    return [int(m[1]) * Fraction(2) ** int(m[2] or 0) for m in found]


def dyadic(number):
    """A float as Sollya reads it, exactly."""
    p, q = number.as_integer_ratio()
    return f"({p}b-{q.bit_length() - 1})"


class Sollya:
    """Sollya at a path. Functions are formulas of x in Python's writing."""

    def __init__(self, path):
        self.path = path

    def run(self, script):
        """The lines of numbers that a script prints."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "script.sollya"
            file.write_text(f"{SETTINGS} {script.replace('**', '^')}; quit;\n")
            command = [self.path, "--warnonstderr", str(file)]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
        if done.returncode != 0 or "error" in done.stderr:
            raise SollyaError(f"{done.stdout} {done.stderr}")
        return [numbers(line) for line in done.stdout.splitlines()]

    def best(self, f, degree):
        """The coefficients of the best polynomial, lowest first, rounded to float64."""
        script = f"p = roundcoefficients(remez({f}, {degree}, [-1; 1]), [|D...|]);"
        script += f"for i from 0 to {degree} do print(coeff(p, i))"
        exact = [c for (c,) in self.run(script)]
        assert [Fraction(float(c)) for c in exact] == exact
        return [float(c) for c in exact]

    def norm(self, coefficients, f, pieces=PIECES):
        """Proven bounds below and above of sup |p − f|: the largest of those on the pieces."""
        p = " + ".join(f"{dyadic(c)}*x^{i}" for i, c in enumerate(coefficients))
        script = (
            f"for i from 0 to {pieces - 1} do {{ I = [-1 + 2*i/{pieces}; -1 + 2*(i+1)/{pieces}];"
        )
        script += f"s = supnorm({p}, {f}, I, absolute, {ACCURACY}); print(inf(s), sup(s)); }}"
        found = self.run(script)
        assert len(found) == pieces
        low, high = zip(*found, strict=True)
        return max(low), max(high)

    def least(self, f, bound):
        """The first best polynomial that is proven to be within the bound, by degree."""
        guess = f"g = guessdegree({f}, [-1; 1], {dyadic(bound)}); print(inf(g), sup(g))"
        low, high = map(int, self.run(guess)[0])
        for degree in range(max(low - 2, 1), high + 3):
            p = self.best(f, degree)
            if self.norm(p, f)[1] <= bound:
                return p
        raise SollyaError(f"no polynomial of degree {high + 2} is within {bound} of {f}")
