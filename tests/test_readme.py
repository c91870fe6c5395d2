"""Every code block of the README and the docs runs, and prints what the block after it says."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PAGES = sorted(
    page
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    if "```python" in page.read_text()
)
BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run_in_order(page, tmp_path):
    blocks = BLOCK.findall(page.read_text())
    code = "\n".join(text for kind, text in blocks if kind == "python")
    told = "".join(text for kind, text in blocks if kind == "text")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == told


def test_links_lead_somewhere():
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#\s]*[./][^)#\s]*)", page.read_text()):
            assert target.startswith("http") or (page.parent / target).exists(), (page.name, target)
