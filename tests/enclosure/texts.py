"""Random formulas as texts, and their values at many digits, read by their grammar alone."""

import random

import mpmath

from formula.reading import NAMED, read

FUNCTIONS = [
    *("sqrt", "exp", "log", "erf", "erfc", "gamma", "lgamma", "abs"),
    *("sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
]


def text(rng: random.Random, names, depth=3):
    """A formula; it need not be defined anywhere."""

    def part():
        return text(rng, names, depth - 1)

    if depth == 0 or rng.random() < 0.12:
        return rng.choice([*names, *names, *names, str(rng.randint(-3, 3)), "0.3", "2.5", "pi"])
    kind = rng.choice(["+", "-", "*", "/", "call", "call", "call", "power", "max", "if", "-", "^"])
    match kind:
        case "call":
            return f"{rng.choice(FUNCTIONS)}({part()})"
        case "power":
            return f"({part()})**{rng.choice(['2', '3', '4', '(-1)', '(-2)', '0.5', '7', '2.0'])}"
        case "^":
            base = f"(({part()})**2 + 0.1)"
            return f"{base}**{rng.choice(['(1/3)', '1.7', '(-0.4)', f'({part()})'])}"
        case "max":
            parts = ", ".join(part() for _ in range(rng.randint(1, 3)))
            return f"{rng.choice(['max', 'min'])}({parts})"
        case "if":
            return f"({part()} if {part()} {rng.choice(['>', '>='])} {part()} else {part()})"
    return f"({part()} {kind} {part()})"


def named():
    """What names of functions mean; a number that is not real is no value."""

    def real(f):
        def call(*args):
            found = f(*args)
            if isinstance(found, mpmath.mpc) or not mpmath.isfinite(found):
                raise ArithmeticError
            return found

        return call

    return {n: f if n.startswith("if") else real(f) for n, f in NAMED.items()}


REAL = named()


def value(formula, known, digits=50):
    """The value of a text, None where it has none; ``known`` are mpmath's numbers."""
    with mpmath.workdps(digits):
        try:
            found = read(formula, known, mpmath.mpf, REAL)
        except (ArithmeticError, ValueError, TypeError):
            return None
        if isinstance(found, mpmath.mpc) or not mpmath.isfinite(found):
            return None
        return found
