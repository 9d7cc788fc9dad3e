"""A server of the tests' own, run as a process: `python fake_server.py PORT KEY BEHAVIOUR [FILE]`.

It is healthy at once. BEHAVIOUR: "good" answers; "broken" refuses completions; "fat" takes memory;
"family" also starts a grandchild that ignores SIGTERM, in a session of its own, and writes both
process ids to FILE; "dead" ends before it listens.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('up', flush=True); time.sleep(600)"
)


class Handler(BaseHTTPRequestHandler):
    """Health, and completions of as many tokens as were asked for."""

    key = behaviour = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_POST(self) -> None:
        if self.headers["Authorization"] != f"Bearer {self.key}":
            self.send_error(401)
            return
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.behaviour == "broken":
            self.send_error(500, "no model here")
            return
        self.send_response(200)
        self.end_headers()
        for token in range(asked["max_tokens"]):
            time.sleep(0.01)
            event = {"choices": [{"text": "x", "token_ids": [asked["prompt"][0] + token]}]}
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_: object) -> None:
        return None


def main() -> None:
    port, Handler.key, Handler.behaviour = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    if Handler.behaviour == "dead":
        raise ValueError("the model file is damaged")
    if Handler.behaviour == "fat":
        hold = b"x" * (300 << 20)
        time.sleep(600)
        print(len(hold))
    if Handler.behaviour == "family":
        child = subprocess.Popen(
            [sys.executable, "-c", _STUBBORN], stdout=subprocess.PIPE, start_new_session=True
        )
        assert child.stdout
        child.stdout.readline()
        Path(sys.argv[4]).write_text(f"{os.getpid()} {child.pid} {os.environ['TMPDIR']}")
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
