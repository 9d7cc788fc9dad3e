"""The forbidden-module rule: what it must catch, and what it must leave alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from labkit import _HOMES
from labkit.grading.forbidden import ROOT_NAMES, UNREADABLE, forbidden_use

FORBIDS = ("labkit.sizing",)
DEF = "def f(x):\n    return {}"


def use(*cells: str, start: int = -1) -> str | None:
    return forbidden_use(cells, [range(len(cells))[start]], ["f"], FORBIDS)


CAUGHT = {
    "import inside": (DEF.format("x").replace("return", "import labkit.sizing; return"),),
    "from import": ("from labkit.sizing import roofline", DEF.format("roofline(x)")),
    "renamed": ("from labkit.sizing import roofline as r", DEF.format("r(x)")),
    "module": ("from labkit import sizing", DEF.format("sizing.roofline(x)")),
    "submodule": ("import labkit.sizing.roofline as q", DEF.format("q.knee(x)")),
    "root name": ("from labkit import estimate", DEF.format("estimate(x)")),
    "root attribute": ("import labkit", DEF.format("labkit.estimate(x)")),
    "root alias": ("import labkit as lk", DEF.format("lk.sizing.roofline(x)")),
    "star": ("from labkit.sizing import *", DEF.format("roofline(x)")),
    "assigned": ("from labkit.sizing import roofline\ng = roofline", DEF.format("g(x)")),
    "through a helper": (
        "from labkit.sizing import roofline",
        "def helper(x):\n    return roofline(x)",
        DEF.format("helper(x)"),
    ),
    "in a class": (
        "from labkit import sizing",
        "class f:\n    def g(self):\n        return sizing",
    ),
    "behind a magic": ("%time from labkit.sizing import roofline as r", DEF.format("r(x)")),
    "cell magic": ("from labkit.sizing import roofline", "%%time\n" + DEF.format("roofline(x)")),
    "conditional": ("if True:\n    from labkit.sizing import roofline", DEF.format("roofline(x)")),
    "try": ("try:\n    import labkit.sizing as z\nexcept E: pass", DEF.format("z.roofline(x)")),
    "default": ("from labkit import sizing", "def f(x, s=sizing):\n    return s"),
    "lambda": ("from labkit import sizing", "f = lambda x: sizing.roofline(x)"),
    "decorator": ("from labkit import sizing", "@sizing.cached\ndef f(x):\n    return x"),
    "__import__": (DEF.format("__import__('lab' + 'kit.sizing')"),),
    "importlib": ("import importlib", DEF.format("importlib.import_module('lab'+'kit')")),
    "exec": (DEF.format("exec('import lab' + 'kit')"),),
    "eval": (DEF.format("eval('1')"),),
    "sys.modules": ("import sys", DEF.format("sys.modules['lab'+'kit.sizing']")),
}

LEFT_ALONE = {
    "plain": (DEF.format("2 * x"),),
    "numpy": ("import numpy as np", DEF.format("np.minimum(x, 1)")),
    "demonstration": ("from labkit.sizing import roofline\nroofline(1)", DEF.format("2 * x")),
    "star elsewhere": ("from labkit.sizing import *", DEF.format("min(x, 1)")),
    "same local name": (
        "from labkit.sizing import roofline\nmodel = roofline(1)",
        "def f(model):\n    return model * 2",
    ),
    "same comprehension name": (
        "from labkit import sizing\nx = sizing.y",
        "def f(n):\n    return sum(x for x in range(n))",
    ),
    "another root name": ("from labkit import Lab, Q", DEF.format("Q(x, 'GB')")),
    "no Python": ("this is no python ((", DEF.format("2 * x")),
    "magics": ("%matplotlib inline\n!ls", "%%time\n%timeit 1\nx = !ls\n" + DEF.format("2 * x")),
    "percent first": ("y = (7\n  % 3)\n" + DEF.format("2 * x"),),
    "another language": ("%%bash\nfrom labkit.sizing import roofline", DEF.format("2 * x")),
    "re.compile": ("import re", DEF.format("re.compile('x')")),
}


@pytest.mark.parametrize("cells", CAUGHT.values(), ids=CAUGHT.keys())
def test_caught(cells):
    assert use(*cells) is not None


@pytest.mark.parametrize("cells", LEFT_ALONE.values(), ids=LEFT_ALONE.keys())
def test_left_alone(cells):
    assert use(*cells) is None


@pytest.mark.parametrize(
    "monster",
    ["(" * 5000 + ")" * 5000, "x = " + "-" * 50_000 + "1", "lambda: " * 3000 + "0",
     "a" + ".b" * 20_000, "f(" * 3000 + ")" * 3000, "x = " + "1+" * 20_000 + "1", "\0"],
    ids=["brackets", "minus", "lambdas", "dots", "calls", "sum", "null"],
)  # fmt: skip
def test_monstrous_code_is_passed_over_or_called_unreadable(monster):
    assert use(monster, DEF.format("2 * x")) in (None, UNREADABLE)


def test_the_root_package_gives_no_name_that_is_not_known_here():
    known = {name: home for name, home in _HOMES.items() if home != "labkit.contract"}
    assert {**known, "bench": "labkit.bench"} == dict(ROOT_NAMES)


@pytest.mark.parametrize("length", [1_000, 2_900, 5_000, 20_000])
def test_code_that_is_nested_too_deeply_hides_nothing(length: int) -> None:
    """The interpreter that runs it may have more depth left than the judge that reads it."""
    hidden = "from labkit.sizing import roofline as r\ny = " + "1+" * length + "1"
    assert use(hidden, DEF.format("r(x)")) in ("labkit.sizing", UNREADABLE)


# Objects that are collected in the middle of a parse let other threads run there.
THREADS = """
import gc, sys, threading, time
from labkit.grading.forbidden import forbidden_use

class Slow:
    def __del__(self):
        time.sleep(1e-4)

def judge():
    for _ in range(20):
        for _ in range(4):
            slow = Slow()
            slow.itself = slow
        try:
            found.append(forbidden_use([source], [0], ["f0"], ["labkit.sizing"]))
        except BaseException as error:
            found.append(repr(error))

line = "def f{0}(x): return [[(a{0} + {0}) * x for a{0} in range(10)] for b in (lambda: [x])()]"
source = "\\n".join(["from labkit.sizing import roofline as x", *map(line.format, range(200))])
found = []
sys.setswitchinterval(1e-6)
gc.set_threshold(100)
threads = [threading.Thread(target=judge) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(sorted(set(found)), len(found))
"""


def test_submissions_that_are_judged_at_once_do_not_disturb_each_other() -> None:
    """Without care one of some eighty parses failed here, and its exercise was not judged."""
    for _ in range(3):
        command = [sys.executable, "-c", THREADS]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        assert done.stdout.strip() == "['labkit.sizing'] 80"
