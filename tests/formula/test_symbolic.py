from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sympy.abc import x, y, z

from anchorhead.errors import InputError
from anchorhead.formula import Formula, from_sympy, trace
from formula.reading import values

RNG = np.random.default_rng(4)

EXPRESSIONS = {
    "polynomial": 3 * x**3 - x**2 / 7 + x - 7,
    "several variables": (x + y) * (x - z) ** 2 / (1 + y**2),
    "Gaussian": sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi),
    "powers": (x + 2) ** y + 2**x + sp.root(x + 2, 3) + (x + 2) ** -1.5,
    "reciprocals": 1 / (x + 2) - 3 / (x + 2) ** 2 + 1 / sp.sqrt(y + 2),
    "trigonometric": sp.sin(x) * sp.cos(y) - sp.tan(z / 2),
    "reciprocal trigonometric": sp.sec(x)
    + sp.csc(x + 3)
    - sp.cot(x + 3)
    + sp.sech(x)
    + sp.coth(x + 3),
    "inverse": sp.asin(x) + sp.acos(y) - sp.atan(5 * z),
    "hyperbolic": sp.sinh(x) + sp.cosh(y) - sp.tanh(z) + sp.csch(x + 2),
    "inverse hyperbolic": sp.asinh(x) + sp.acosh(y + 3) - sp.atanh(z / 2),
    "sizes": sp.Abs(x) * sp.Max(x, y, sp.Rational(1, 3)) - sp.Min(x, y, z, 0),
    "signs": sp.sign(x) + sp.Heaviside(y) + sp.Heaviside(z, 1) * x,
    "error functions": sp.erf(x) - sp.erfc(y),
    "gamma functions": sp.gamma(x + 2) + sp.loggamma(y + 3),
    "constants": sp.pi * x + sp.E * y + sp.exp(2) + sp.pi,
    "decimals": sp.Float("0.1") * x + sp.Float("0.1", 40) * y,
    "sigmoid": 1 / (1 + sp.exp(-x)),
    "logarithms": sp.log(x + 2, 2) + sp.log(1 + sp.exp(y)),
    "pieces": sp.Piecewise((x, x > 0), (sp.sin(x), sp.And(x > -0.5, y < 0.2)), (x * y, True)),
    "many pieces": sp.Piecewise((1, x > 0.5), (2, sp.Or(x < -0.5, y >= 0)), (3, y <= z), (4, True)),
    "not": sp.Piecewise((1, sp.Not(sp.And(x > 0.5, y > 0.5))), (z, True)),
    "one point": sp.Piecewise((1, sp.Eq(x, 0)), (sp.sin(x) / x, True)),
    "nested pieces": sp.Piecewise((sp.Piecewise((x, y > 0), (-x, True)), x > 0), (z, True)),
    "leaky": sp.Max(x, x / 10),
    "nested": sp.exp(sp.sin(sp.exp(sp.sin(sp.exp(x) * y)) + z)),
    "unevaluated": sp.Mul(2, sp.Add(x, x, evaluate=False), sp.Rational(1, 3), evaluate=False),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_the_text_has_the_value_of_the_expression(name):
    expression = EXPRESSIONS[name]
    formula = from_sympy(expression, ["x", "y", "z"])
    assert formula == from_sympy(expression, [x, y, z])
    assert formula.shape == ()
    for _ in range(8):
        point = [Fraction(int(n), 64) for n in RNG.integers(-63, 64, 3)]
        at = {
            s: sp.Rational(p.numerator, p.denominator)
            for s, p in zip((x, y, z), point, strict=True)
        }
        with mpmath.workdps(60):
            expected = mpmath.mpf(str(expression.subs(at).evalf(50)))
            (found,) = values(formula, point, number)
            digits = 14 if expression.has(sp.Float) else 45
            assert abs(found - expected) <= mpmath.mpf(10) ** -digits * (1 + abs(expected))


def number(c):
    return mpmath.mpf(c.numerator) / c.denominator if isinstance(c, Fraction) else mpmath.mpf(c)


def test_forms_to_be_read():
    text = {
        "sqrt(2)*exp(-x**2/2)/(2*sqrt(pi))": EXPRESSIONS["Gaussian"],
        "x/(3*y)": x / (3 * y),
        "-x/y**2": -x / y**2,
        "1/sqrt(x)": 1 / sp.sqrt(x),
        "2/(x + y)**3": 2 / (x + y) ** 3,
        "0.1*x": sp.Float("0.1") * x,
        "x/10": x / 10,
        "x**(1/3)": sp.cbrt(x),
        "exp(1)*x": sp.E * x,
        "log(x)/log(2)": sp.log(x, 2),
        "1/(1 + exp(-x))": 1 / (1 + sp.exp(-x)),
        "(0 if 0 > x else x**2)": sp.Piecewise((0, x < 0), (x**2, True)),
    }
    for expected, expression in text.items():
        assert from_sympy(expression, list("xyz")).outputs == (expected,)


def test_several_outputs():
    assert from_sympy([x, y**2], list("xy")).shape == (2,)
    assert from_sympy((x,), "x") == Formula(("x",), (), ("x",), (1,))
    matrix = sp.Matrix([[x, y, 0], [y, x + y, sp.pi]])
    formula = from_sympy(matrix, list("xy"))
    assert formula == from_sympy(sp.ImmutableMatrix(matrix), list("xy"))
    assert formula.outputs == ("x", "y", "0", "y", "x + y", "pi")
    assert formula.shape == (2, 3)
    assert from_sympy(sp.Array([[[x, y]]]), list("xy")).shape == (1, 1, 2)
    assert from_sympy([x, 1, 0.5, Fraction(1, 3)], "x").outputs == ("x", "1", "0.5", "1/3")
    shared = sp.sin(x * y + z) ** 2 * x
    assert from_sympy([sp.exp(shared), sp.cos(shared)], list("xyz")).where == (
        ("t1", "x*sin(z + x*y)**2"),
    )


def test_numpy_and_sympy_agree():
    traced = trace(lambda x, y: np.exp(-(x**2) / 2) * np.maximum(x, y), ["x"], ["y"])
    written = from_sympy([sp.exp(-(x**2) / 2) * sp.Max(x, y)], ["x", "y"])
    at = [0.3, -0.7]
    assert abs(values(traced, at)[0] - values(written, at)[0]) < 1e-45


@pytest.mark.parametrize(
    ("expressions", "reason"),
    [
        ("x + 1", "formulas as text are not read; give a SymPy expression"),
        ([x, "x"], "formulas as text are not read"),
        ([], "is empty"),
        (x + sp.Symbol("b") * sp.Symbol("a"), "holds a, b, not among the variables"),
        (sp.Symbol("pi") * x, "holds pi, not among the variables"),
        (sp.GoldenRatio * x, "holds GoldenRatio, which has no formula; use"),
        (sp.EulerGamma + x, "holds EulerGamma"),
        (sp.I * x, "holds I, "),
        (sp.oo, "holds oo, "),
        (sp.zoo * x, "holds zoo, "),
        (sp.nan, "holds nan, "),
        (sp.floor(x), "holds floor, "),
        (sp.factorial(x), "holds factorial, "),
        (sp.besselj(0, x), "holds besselj, "),
        (sp.Function("f")(x), "holds f, "),
        (sp.Function("sin")(x), "holds sin, "),
        (sp.Integral(sp.exp(x**2), x), "holds Integral, "),
        (sp.Derivative(sp.Function("f")(x), x), "holds Derivative, "),
        (sp.Piecewise((x, x > 0)), "a Piecewise without a last case"),
        (sp.Piecewise((x, x > 0), (sp.floor(y), True)), "holds floor, "),
        (x > 0, "StrictGreaterThan where a SymPy expression is needed"),
        (sp.true, "BooleanTrue where"),
        (None, "NoneType where"),
        (object(), "object where"),
        ([[x]], "list where"),
        ([float("inf")], "finite"),
        (1j, "complex where"),
        (sp.Mul(x, sp.Pow(0, -1, evaluate=False), evaluate=False), "divides by the number 0"),
        (sp.Float("1e5000") * x, "thousands of digits"),
        (sp.Integer(10) ** 5000 * x, "thousands of digits"),
    ],
)
def test_what_has_no_formula_is_refused_with_its_reason(expressions, reason):
    with pytest.raises(InputError, match=reason) as caught:
        from_sympy(expressions, ["x", "y"])
    assert "expressions" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("variables", [["x", "pi"], ["x y"], ["x", "x"], [3], ["lambda"], [x + y]])
def test_names_of_variables_are_names(variables):
    with pytest.raises(InputError, match="variables holds"):
        from_sympy(x, variables)


def test_depth_needs_no_recursion():
    expression = x
    for i in range(5000):
        expression = sp.sin(expression, evaluate=False) if i % 2 else expression + sp.Rational(1, 2)
    formula = from_sympy(expression, "x")
    expected = 0.3
    for i in range(5000):
        expected = np.sin(expected) if i % 2 else expected + 0.5
    assert abs(float(values(formula, [0.3])[0]) - expected) < 1e-12


def expressions():
    """Expressions of rational operations, extremes, absolute values and pieces."""
    leaves = st.one_of(
        st.sampled_from([x, y, z]),
        st.fractions(-3, 3, max_denominator=5).map(
            lambda q: sp.Rational(q.numerator, q.denominator)
        ),
    )

    def larger(parts):
        return st.one_of(
            st.tuples(parts, parts).map(lambda p: p[0] + p[1]),
            st.tuples(parts, parts).map(lambda p: p[0] * p[1]),
            st.tuples(parts, parts).map(lambda p: p[0] - p[1]),
            st.tuples(parts, st.integers(-2, 3)).map(lambda p: p[0] ** p[1]),
            st.tuples(parts, st.sampled_from([x, y])).map(lambda p: p[0] / (1 + p[1] ** 2)),
            st.tuples(st.sampled_from([x, y]), parts, parts).map(
                lambda p: sp.Piecewise((p[1], p[0] > sp.Rational(1, 3)), (p[2], True))
            ),
        )

    return st.recursive(leaves, larger, max_leaves=8)


@given(expressions(), *[st.fractions(-2, 2, max_denominator=7)] * 3)
def test_random_expressions(expression, a, b, c):
    at = {
        s: sp.Rational(q.numerator, q.denominator)
        for s, q in zip((x, y, z), (a, b, c), strict=True)
    }
    assume(not expression.has(sp.zoo, sp.nan))
    expected = expression.subs(at)
    assume(expected.is_Rational)
    try:
        found = values(from_sympy(expression, list("xyz")), (a, b, c), Fraction)
    except ZeroDivisionError:
        assume(False)
    assert found == [Fraction(int(expected.p), int(expected.q))]
