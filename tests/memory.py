"""How much memory a piece of code takes, measured in a process of its own."""

import subprocess
import sys

PROGRAM = """
import sys

def peak():
    '''The process's largest memory so far in MiB; unlike ru_maxrss it starts anew with a program.'''
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

{prepare}
before = peak()
{run}
print(before, peak())
"""


def measured(prepare, run, *arguments):
    """Peak memory in MiB, of the whole process and of what ``run`` added to ``prepare``."""
    code = PROGRAM.format(prepare=prepare, run=run)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    before, after = map(float, done.stdout.split())
    return after, after - before
