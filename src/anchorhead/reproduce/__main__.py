"""Print what was built, with its bound where there is one, and the error measured in this run."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence

from anchorhead.reproduce.functions import FUNCTIONS, Compiled, compiled
from anchorhead.reproduce.rates import Rate, multi_head_rate, single_head_rate
from anchorhead.reproduce.sequences import SIZES, Row, relu_rows, road_rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Print everything: about twenty seconds on two cores, a few with ``--quick``."""
    parser = ArgumentParser(prog="python -m anchorhead.reproduce", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller networks, fewer inputs")
    quick = parser.parse_args(arguments).quick
    anchors, heads = (range(5, 9), range(4)) if quick else (range(5, 13), range(7))
    sizes, count = (SIZES[:1], 100) if quick else (SIZES, 1000)
    functions = FUNCTIONS[:3] if quick else FUNCTIONS
    print("Functions: the smallest network found, beside the paper's uniform anchors\n")
    print(function_table([compiled(function) for function in functions]))
    print("\nTheorem 1: one head, p anchors, n = 16 different ramps (d = 4, range [−1, 2])\n")
    print(rate_table("p", single_head_rate([2**k for k in anchors])))
    print("\nTheorem 2: H heads of n − 2 = 14 anchors on the same tokens\n")
    print(rate_table("H", multi_head_rate([2**k for k in heads])))
    print("\nTheorems 3 and 4: whole functions of sequences\n")
    print(row_table([*relu_rows(sizes, count=count), *road_rows(count=count)]))


def rate_table(symbol: str, rate: Rate) -> str:
    """A Markdown table of a rate, with its slope below."""
    rows = [
        (f"{size}", f"{error:.3e}", f"{bound:.3e}", f"{error / bound:.2f}")
        for size, error, bound in zip(rate.sizes, rate.errors, rate.bounds, strict=True)
    ]
    table = markdown((symbol, "sup error measured", "theorem's bound", "ratio"), rows)
    return f"{table}\n\nslope of log error against log {symbol}: {rate.slope:.3f}"


def function_table(rows: Sequence[Compiled]) -> str:
    """A Markdown table of functions and the networks found for them."""
    head = ("function", "error asked", "anchors", "sup error measured", "bound proven")
    head += ("the paper's anchors",)
    cells = [
        (
            row.function.name,
            f"{row.function.error:.0e}",
            f"{row.network.size.anchors}",
            f"{row.error:.2e}",
            f"{row.proven:.2e}",
            f"{row.paper:.1e}",
        )
        for row in rows
    ]
    return markdown(head, cells)


def row_table(rows: Sequence[Row]) -> str:
    """A Markdown table of measured networks."""
    head = (
        "target",
        "theorem",
        "asked",
        "bound",
        "sup error measured",
        "inputs",
        "heads",
        "anchors",
        "parameters",
        "ms to build",
    )
    return markdown(
        head,
        [
            (
                row.target,
                row.theorem,
                f"{row.asked:g}",
                f"{row.bound:.3g}",
                f"{row.error:.3g}",
                f"{row.inputs}",
                f"{row.size.heads}",
                f"{row.size.anchors}",
                f"{row.size.parameters:,}",
                f"{1000 * row.seconds:.1f}",
            )
            for row in rows
        ],
    )


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns line up in plain text too."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(f"{c:<{w}}" for c, w in zip(line, widths, strict=True)) + " |"
        for line in lines
    )


if __name__ == "__main__":
    main()
