"""How much memory a head in prefix form takes for many tokens: each row is a process of its own."""

from __future__ import annotations

import subprocess
import sys

from anchorhead.reproduce.__main__ import markdown

PROGRAM = """
import sys, time
import numpy as np
from anchorhead.heads import pointwise, uniform

runner, n = sys.argv[1], int(sys.argv[2])
network = pointwise(uniform(-1.0, 2.0, 64, h=20.0))
X = np.linspace(-2, 3, n)[:, None]
if runner == "torch":
    import torch
    X = torch.tensor(X)
network(X[:10])
start = time.perf_counter()
network(X)
seconds = time.perf_counter() - start
# Not ru_maxrss: that one is inherited from the process that started this program.
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(seconds, peak / 1024)
"""


def table() -> str:
    """Peak memory of the process and time, against what an n×p array alone would take."""
    rows = []
    for runner in ("NumPy", "torch"):
        for n in (10**4, 10**5, 10**6, 10**7):
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM, runner, str(n)],
                capture_output=True,
                text=True,
                check=True,
            )
            seconds, peak = map(float, done.stdout.split())
            scores = n * 64 * 8 / 2**20
            rows.append(
                (runner, f"{n:,}", f"{scores:,.0f}", f"{peak:,.0f}", f"{1e9 * seconds / n:.0f}")
            )
    head = ("runner", "tokens", "n×p scores alone, MiB", "peak of the process, MiB", "ns a token")
    return "64 anchors, one head, float64.\n\n" + markdown(head, rows)
