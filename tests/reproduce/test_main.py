import re

from anchorhead.reproduce.__main__ import main, markdown
from anchorhead.reproduce.sequences import SIZES, relu_rows, road_rows


def test_the_command_prints_every_table_with_its_bounds(capsys):
    main(["--quick"])
    text = capsys.readouterr().out
    assert [f"Theorem {k}" in text for k in (1, 2)] == [True, True]
    assert "theorem's bound" in text
    slopes = [float(s) for s in re.findall(r"slope of .*: (-?[\d.]+)", text)]
    assert len(slopes) == 2
    assert all(-1.15 < slope < -0.9 for slope in slopes)
    for name in ("ReLU  ", "random ReLU", "sorting two numbers", "moving average"):
        assert name in text


def test_rows_are_within_what_was_asked():
    rows = relu_rows(SIZES[:1], count=100) + road_rows(count=100)
    assert len(rows) == 8
    for row in rows:
        assert 0 < row.error <= row.bound <= row.asked


def test_markdown_lines_up():
    lines = markdown(("a", "long"), [("1", "2"), ("three", "4")]).splitlines()
    assert len({len(line) for line in lines}) == 1
