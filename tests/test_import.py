import ast
import pathlib
import subprocess
import sys

import anchorhead

OURS = {"compile"}
"""``anchorhead.compile`` bears the name of a builtin; modules may import it, and never call it by
that bare name."""

SOURCES = sorted(pathlib.Path(anchorhead.__file__).parent.rglob("*.py"))


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_import_is_light():
    """Torch and its like stay out, and so does what only some calls need.

    Seconds are those of the processor, the least of three, so that a busy machine does not count.
    """
    seconds = []
    for _ in range(3):
        done = python(
            "import sys, time; start = time.process_time(); import anchorhead; "
            "print(time.process_time() - start); "
            "print(sorted({'torch', 'sklearn', 'matplotlib', 'typer', 'sympy', 'scipy'}"
            " & set(sys.modules)))"
        )
        spent, loaded = done.stdout.splitlines()
        assert loaded == "[]"
        seconds.append(float(spent))
    assert min(seconds) < 0.5


def test_without_torch_numpy_runs_and_torch_is_asked_for_by_name():
    done = python(
        "import sys; sys.modules['torch'] = None\n"
        "import anchorhead\n"
        "net = anchorhead.Network((anchorhead.Linear((1, 1), (1, 1), (anchorhead.Term(),)),))\n"
        "print(net([[2.5]]))\n"
        "try:\n"
        "    net.to_torch()\n"
        "except anchorhead.errors.MissingExtraError as error:\n"
        "    print(error)\n"
    )
    assert done.stdout.splitlines()[0] == "[[2.5]]"
    assert "pip install 'anchorhead[torch]'" in done.stdout


def test_public_names_are_all_there_and_described():
    for name in anchorhead.__all__:
        assert getattr(anchorhead, name).__doc__, name
    for room in (anchorhead.theorems, anchorhead.forms, anchorhead.heads):
        for name in room.__all__:
            assert getattr(room, name).__doc__, name


def test_nothing_is_evaluated_or_unpickled():
    forbidden = {"eval", "exec", "compile", "pickle", "marshal", "shelve", "__import__"}
    assert len(SOURCES) > 20
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            names = set()
            if isinstance(node, ast.Name):
                names = {node.id}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("anchorhead"):
                names = {alias.name for alias in node.names} - OURS
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name.split(".")[0] for alias in node.names}
            assert not names & forbidden, path
