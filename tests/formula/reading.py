"""Formulas read by their grammar alone, at 50 digits or exactly: what the tests compare with."""

import ast

import mpmath

NAMED = {
    **{n: getattr(mpmath, n) for n in ("sqrt", "exp", "log", "sin", "cos", "tan", "erf", "erfc")},
    **{n: getattr(mpmath, n) for n in ("asin", "acos", "atan", "sinh", "cosh", "tanh", "gamma")},
    **{n: getattr(mpmath, n) for n in ("asinh", "acosh", "atanh")},
    "lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))),
    "abs": abs,
    "min": min,
    "max": max,
    "if>=": lambda p, q, a, b: a() if p >= q else b(),
    "if>": lambda p, q, a, b: a() if p > q else b(),
}

OPERATORS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}


def values(formula, point, number=mpmath.mpf, named=NAMED):
    """The outputs at a point (a number for each variable)."""
    with mpmath.workdps(50):
        known = dict(zip(formula.variables, map(number, point), strict=True))
        for name, text in formula.where:
            known[name] = read(text, known, number, named)
        return [read(text, known, number, named) for text in formula.outputs]


def read(text, known, number, named):
    """The value of one text."""

    def value(node):
        match node:
            case ast.Constant(value=int() | float() as c):
                return number(c)
            case ast.Name(id="pi"):
                return +mpmath.pi
            case ast.Name(id=name):
                return known[name]
            case ast.UnaryOp(op=ast.USub(), operand=x):
                return -value(x)
            case ast.BinOp(left=a, op=operator, right=b):
                return OPERATORS[type(operator)](value(a), value(b))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return named[name](*map(value, arguments))
            case ast.IfExp(test=ast.Compare(left=p, ops=[op], comparators=[q]), body=a, orelse=b):
                assert isinstance(op, ast.Gt | ast.GtE)
                choice = named["if>" if isinstance(op, ast.Gt) else "if>="]
                return choice(value(p), value(q), lambda: value(a), lambda: value(b))
        raise AssertionError(ast.dump(node))

    return value(ast.parse(text, mode="eval").body)
