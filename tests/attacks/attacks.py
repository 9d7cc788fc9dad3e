"""Hostile notebooks, each as the cells that it puts before otherwise right answers.

A cell that tries something reports with `attempt`: exercise 90.7, which is worth nothing, then
shows "GOT …" or "denied …" on the judge's side.
"""

from __future__ import annotations

from dataclasses import dataclass

HELPERS = """
import ctypes, os, signal, socket, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)

def attempt(*tries):
    said = []
    for one in tries:
        try:
            said.append("GOT " + repr(one())[:30])
        except BaseException as error:
            said.append("denied " + type(error).__name__)
    got = [text for text in said if text.startswith("GOT")]
    lab.check("90.7", " ".join(got) or "all denied")

def call(name, *args):
    ctypes.set_errno(0)
    if getattr(libc, name)(*args) != 0:
        raise OSError(ctypes.get_errno(), name)
    return "done"
"""


@dataclass(frozen=True)
class Attack:
    """`cells` run before the answers, `after` behind them.

    `report` is what 90.7 must show; `status` and `points` what the row must say; `error` the
    exception that one of its cells must have met.
    """

    cells: tuple[str, ...] = ()
    report: str = ""
    status: str = "graded"
    points: float = 7.0
    or_points: float = 7.0  # where the machine's mood decides
    error: str = ""
    answers: tuple[tuple[str, str], ...] = ()
    after: tuple[str, ...] = ()


def denied(*tries: str) -> Attack:
    """An attack all of whose tries must end in an exception."""
    lambdas = ", ".join(f"lambda: {one}" for one in tries)
    return Attack((HELPERS, f"attempt({lambdas})"), report="all denied")


def forge(*lines: bytes) -> str:
    return f"import os\nfor line in {list(lines)!r}:\n    os.write(3, line + b'\\n')"


def write(path: str) -> str:
    return f"open({path!r}, 'w').write('x')"


ATTACKS: dict[str, Attack] = {
    # --- reading what is not theirs
    "imports references": denied(
        "__import__('labkit.exercises')",
        "__import__('labkit.course')",
        "__import__('labkit.grading')",
        "__import__('labkit.cli')",
        "__import__('tests.grading.toy_lab')",
    ),
    "walks the file system": Attack(
        (
            HELPERS,
            """
found = []
for folder, folders, files in os.walk("/"):
    if folder.endswith("-packages"):
        folders[:] = [f for f in folders if f == "labkit"]
    if folder == "/usr":
        folders[:] = ["src", "local"]
    folders[:] = [f for f in folders if f not in ("proc", "sys")]
    found += [f for f in files if f in ("key", "toy_lab.py", "grades.csv", "course.toml")]
    found += [f for f in files if f.startswith(("lab.ipynb", "lab01_", "01_own_the"))]
    if os.path.basename(folder) == "labkit" and folders != ["labkit"]:
        rooms = {"contract", "runner", "catalog", "sizing", "bench", "fleet", "__pycache__"}
        found += sorted(set(folders) - rooms)
attempt(lambda: found)
""",
        ),
        report="GOT []",
    ),
    "knows where things are": denied(
        "os.stat('{repo}/src')",
        "os.stat('{repo}/tests')",
        "os.stat('{repo}/solutions')",
        "os.stat('{key}')",
        "os.stat('{submissions}')",
        "os.stat('{out}')",
        "os.listdir('{home}/.ssh')",
        "open('/etc/shadow')",
    ),
    "reads the environment": Attack(
        (
            HELPERS,
            """
def environments():
    seen = str(dict(os.environ))
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for name in ("environ", "cmdline"):
            try:
                seen += open(f"/proc/{pid}/{name}", errors="replace").read()
            except OSError:
                pass
    return [word for word in ("LABKIT_ATTACK_SECRET", "{key}", "{submissions}") if word in seen]
attempt(environments)
""",
        ),
        report="GOT []",
    ),
    "looks at other processes": Attack(
        (HELPERS, "attempt(lambda: len(list(filter(str.isdigit, os.listdir('/proc')))) <= 3)"),
        report="GOT True",
    ),
    # --- the network
    "connects outside": denied(
        "socket.create_connection(('127.0.0.1', {port}), 2)",
        "socket.create_connection(('192.0.2.1', 80), 2)",
        "socket.getaddrinfo('example.org', 80)",
        "socket.socket(40, socket.SOCK_STREAM)",
        "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    ),
    # --- writing
    "writes outside": denied(
        write("/etc/x"),
        write("/usr/x"),
        write("/labkit/x"),
        write("/labkit/labkit/runner/lab.py"),
        write("/x"),
        write("/dev/x"),
        write("/home/x"),
        write("/proc/sys/kernel/hostname"),
    ),
    "fills the disk": Attack(
        (
            HELPERS,
            "def fill():\n"
            "    for n in range(8):\n        open(f'{n}', 'wb').write(bytes(90 << 20))",
            "attempt(fill, lambda: open('/tmp/one', 'wb').write(bytes(300 << 20)))",
        ),
        report="all denied",
    ),
    # --- taking too much
    "fork bomb": Attack(
        (HELPERS, "def bomb():\n    while True:\n        os.fork()\nattempt(bomb)"),
        report="all denied",
        or_points=5,  # the bomb's dead children may leave no process for its own probe
    ),
    "thread bomb": Attack(
        (
            "import threading, time\nfor _ in range(500):\n"
            "    threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
        ),
        error="RuntimeError",
        points=5,  # no process is left for its own function's probe
    ),
    "descriptor bomb": Attack(
        ("kept = [open('/dev/null') for _ in range(9999)]", "del kept"), error="OSError"
    ),
    "memory bomb": Attack(
        (HELPERS, "attempt(lambda: len(bytearray(64 << 30)))"), report="all denied"
    ),
    "memory bomb of many": Attack(
        (
            "import os, time\nfor _ in range(12):\n    if os.fork() == 0:\n"
            "        mine = bytearray(os.urandom(1 << 20) * 120); time.sleep(60)\ntime.sleep(60)",
        ),
        status="memory",
        points=0,
    ),
    "endless loop": Attack(("while True: pass",), error="CellTimeout"),
    "endless loop that holds on": Attack(
        after=("while True:\n    try:\n        while True: pass\n    except BaseException: pass",),
        status="timeout or graded",  # it holds on until an alarm falls between its two loops
    ),
    "ignores the alarm": Attack(
        after=("import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass",),
        status="timeout",
    ),
    "endless in C": Attack(
        after=("import collections, itertools\ncollections.deque(itertools.repeat(0), maxlen=0)",),
        status="timeout",
    ),
    "endless power": Attack(("9**9**9**9",), error="CellTimeout"),
    "endless await": Attack(("import asyncio\nawait asyncio.sleep(999)",), error="CellTimeout"),
    "prints 100 MB": Attack(("print('x' * 100_000_000)", "for i in range(300_000): print(i)")),
    "displays without end": Attack(
        ("class Loud:\n    def __repr__(self):\n        while True: pass\nLoud()",)
    ),
    # --- ending early
    "os._exit": Attack(after=("import os\nos._exit(0)",), status="crashed"),
    "segmentation fault": Attack(after=("import ctypes\nctypes.string_at(0)",), status="crashed"),
    "kills itself": Attack(after=("import os\nos.kill(os.getpid(), 9)",), status="crashed"),
    "kills everybody": Attack(after=("import os\nos.kill(-1, 9)",), error="ProcessLookupError"),
    "kills its init": Attack(("import os\nos.kill(1, 9)",), error="PermissionError"),
    "raises SystemExit": Attack(
        ("raise SystemExit(3)", "import sys\nsys.exit()"), error="SystemExit"
    ),
    "calls exit": Attack(("exit()", "quit()")),
    "raises KeyboardInterrupt": Attack(("raise KeyboardInterrupt",), error="KeyboardInterrupt"),
    "asks for input": Attack(("name = input('who? ')",), error="EOFError"),
    "recurses": Attack(("def f(): f()\nf()",), error="RecursionError"),
    "forks and goes on": Attack(("import os\nos.fork()",)),
    "leaves a process behind": Attack(
        ("import subprocess\nsubprocess.Popen(['sleep', '{marker}'], start_new_session=True)",)
    ),
    "exits from a thread": Attack(
        after=(
            "import os, threading, time\n"
            "threading.Timer(0.2, os._exit, [5]).start()\ntime.sleep(9)",
        ),
        status="crashed",
    ),
    # --- the channel
    "forges other messages": Attack(
        (
            forge(
                b'{"t":"answer","id":"90.1","id":"90.2","answer":{}}',
                b'{"t":"answer","id":"90.1","answer":NaN}',
                b'{"t":"answer","id":"../../x","answer":{"kind":"quantity"}}',
                b'{"t":"answer","id":["90.1"]}',
                b'{"t":"answer","id":"90.1","answer":{"kind":"x","points":99}}',
                b'{"t":"grade","id":"90.1","points":100}',
                b'{"t":"results","id":"90.3","results":7}',
                b'{"t":["answer"]}',
                b"[1]",
                b"\xff\xfe",
                b"{" * 5000,
            ),
        )
    ),
    "forges a verdict": Attack(
        (forge(b'{"t":"answer","id":"90.1","answer":{"kind":"passed","points":9}}'),),
        answers=(("90.1", "answer_90_1 = ..."),),
        points=6,
    ),
    "forges results": Attack(
        answers=(("90.3", "def double(size):\n    return 0"),),
        after=(
            forge(
                b'{"t":"answer","id":"90.3","answer":{"kind":"function","name":"f"}}',
                b'{"t":"results","id":"90.3","results":[{"kind":"quantity","number":2}]}',
            ),
        ),
        points=5,
    ),
    "says it is done": Attack(after=(forge(b'{"t":"done"}'),)),
    "floods": Attack(
        after=("import os\nline = b'x' * 1000 + b'\\n'\nwhile True: os.write(3, line * 1000)",),
        status="flooded",
    ),
    "sends an endless line": Attack(
        after=("import os\nos.write(3, b'{\"x\":\"' + b'y' * (3 << 20) + b'\"}\\n')",)
    ),
    "closes its descriptors": Attack(after=("import os\nos.closerange(0, 250)",), status="crashed"),
    "steals from the control pipe": Attack(
        (
            "import os, threading\n"
            "threading.Thread(target=lambda: os.read(100, 1 << 20), daemon=True).start()",
        ),
        points=5,  # the function's probe was stolen: it costs the thief that exercise
    ),
    "remembers the hidden draws": Attack(
        (HELPERS,),
        answers=(("90.3", "seen = []\ndef double(size):\n    seen.append(size)\n    return 0"),),
        after=("attempt(lambda: seen)",),
        report="GOT []",
        points=5,
    ),
    # --- the runner's own code
    "patches the runner": Attack(
        (
            "import labkit.runner.lab, labkit.runner.session, labkit.contract.answer as a\n"
            "labkit.runner.lab.Lab.check = lambda self, *x: 'passed'\n"
            "a.encode = lambda v, **k: {'kind': 'passed', 'points': 99}",
        ),
        points=0,
    ),
    "patches encode": Attack(
        (
            "import labkit.runner.session as s\n"
            "s.encode = lambda v, **k: {'kind': 'passed', 'points': 99}",
        ),
        points=0,
    ),
    "patches builtins": Attack(
        ("import builtins\nbuiltins.isinstance = lambda *a: True\nbuiltins.len = lambda x: 0",),
        status="crashed",
        points=0,
    ),
    "patches json": Attack(
        ("import json\njson.dumps = lambda *a, **k: '{}'",), status="crashed", points=0
    ),
    # --- privileges
    "asks for privileges": denied(
        "call('unshare', 0x10000000)",
        "call('unshare', 0x40000000)",
        "call('mount', b'none', b'/tmp', b'tmpfs', 0, None)",
        "call('umount2', b'/proc', 2)",
        "call('chroot', b'/tmp')",
        "call('setuid', 0)",
        "call('setgroups', 0, None)",
        "call('ptrace', 16, 1, None, None)",
        "call('ptrace', 0, 0, None, None)",
        "call('sethostname', b'x', 1)",
        "call('prctl', 24, 0, 0, 0, 0)",
        "call('syscall', 321, 0, 0, 0)",
        "call('syscall', 425, 1, 0)",
    ),
    "raises its limits": denied(
        "__import__('resource').setrlimit(9, (-1, -1))",
        "__import__('resource').setrlimit(6, (999, 999))",
    ),
}

# Objects handed in as an answer to 90.1, which is then wrong; everything else stays right.
TRICKS: dict[str, str] = {
    "pickle payload": (
        "import os\nclass P:\n    def __reduce__(self):\n"
        "        return os.system, ('touch {marker_file}',)\nanswer_90_1 = P()"
    ),
    "pickle bytes": "import pickle\nanswer_90_1 = pickle.dumps(print)",
    "float that raises": (
        "class F:\n    def __float__(self): raise KeyboardInterrupt\nanswer_90_1 = F()"
    ),
    "equal to everything": (
        "class F(float):\n    def __eq__(self, other): return True\n"
        "    def __float__(self): return 1.0\n    __hash__ = None\nanswer_90_1 = F(1)"
    ),
    "says it is a float": (
        "class F:\n    __class__ = float\n    def __float__(self): return 1.0\nanswer_90_1 = F()"
    ),
    "class that raises": (
        "class F:\n    @property\n    def __class__(self): raise SystemExit\nanswer_90_1 = F()"
    ),
    "name that raises": (
        "class M(type):\n    @property\n    def __name__(self): raise ValueError\n"
        "class F(metaclass=M): pass\nanswer_90_1 = F()"
    ),
    "endless mapping": (
        "from collections.abc import Mapping\nclass F(Mapping):\n"
        "    def __getitem__(self, k): return k\n    def __len__(self): return 9\n"
        "    def __iter__(self):\n        while True: yield 'x'\nanswer_90_1 = F()"
    ),
    "huge integer": "answer_90_1 = 10 ** 100_000",
    "long digits": "answer_90_1 = '9' * 10_000 + ' GB'",
    "an expression": "answer_90_1 = '9**9**9**9 GB'",
    "nan": "answer_90_1 = float('nan')",
    "infinity": "answer_90_1 = float('-inf')",
    "deep nesting": "x = []\nfor _ in range(100_000): x = [x]\nanswer_90_1 = x",
    "contains itself": "answer_90_1 = []\nanswer_90_1.append(answer_90_1)",
    "200 MB of text": "answer_90_1 = 'x' * 200_000_000",
    "200 MB of lists": "answer_90_1 = ['x' * 10_000] * 20_000",
    "surrogates": "answer_90_1 = '\\ud800 <script>alert(1)</script>'",
    "markup": "answer_90_1 = '<script>alert(1)</script>'",
    "error with markup": "raise ValueError('<script>alert(1)</script> \\udcff')",
    "str subclass": (
        "class S(str):\n    def __getitem__(self, k): return self\n"
        "answer_90_1 = S('x' * 5_000_000)"
    ),
}  # fmt: skip

# Functions handed in for 90.3 (2 points), which is then wrong.
FUNCTIONS: dict[str, str] = {
    "function exits": "import os\ndef double(size): os._exit(0)",
    "function crashes": "import ctypes\ndef double(size): ctypes.string_at(0)",
    "function never ends": "def double(size):\n    while True: pass",
    "function never ends in C": "def double(size): return 9**9**9**9",
    "function kills its parent": "import os\ndef double(size): raise SystemExit",
    "function returns 100 MB": "def double(size): return 'x' * 100_000_000",
    "function forks": "import os\ndef double(size):\n    os.fork()\n    return 0",
    "function forges": (
        "import os\ndef double(size):\n"
        '    os.write(3, b\'{"t":"results","id":"90.1","results":[]}\\n\')\n    return 0'
    ),
}
