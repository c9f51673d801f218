"""Stands in for llama-server: writes down how it was started, then plays `scenario.json` of its folder.

Standard library only; installed under the executable's name by `make_fake_pack` of `tests/fake_pack.py`.
A scenario is a list of starts; each start uses the next one, the last one again and again:

    lines           printed to stderr first, in order
    exit            exit code, or a signal's name, right after the lines
    stays_mute      never listens
    loading_polls   how many times /health says 503 before it says 200
    model_path      what /props claims; None for the path it was given
    answers         one per chat completion, the last one again and again:
        status, body    an error reply; or
        chunks          strings, one HTTP chunk each; "hang" waits for the end of the process,
                        "die" kills the process
"""

import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[0]).resolve().parent
STARTS = FOLDER / "starts"
FOREVER_SECONDS = 3600


def next_start(scenario: list[dict[str, Any]]) -> dict[str, Any]:
    """Write down argv, environment, folder and key; return what to play."""
    STARTS.mkdir(exist_ok=True)
    number = len(list(STARTS.iterdir()))
    key_file = value_of("--api-key-file")
    key = Path(key_file).read_text(encoding="ascii").strip() if key_file else None
    mode = Path(key_file).stat().st_mode & 0o777 if key_file else None
    facts = {
        "argv": sys.argv[1:],
        "env": dict(os.environ),
        "cwd": str(Path.cwd()),
        "pid": os.getpid(),
        "key": key,
        "key_mode": mode,
    }
    part = STARTS / f"{number}.part"  # a reader must never see half of it
    part.write_text(json.dumps(facts), encoding="utf-8")
    part.rename(STARTS / f"{number}.json")
    return scenario[min(number, len(scenario) - 1)] | {"key": key}


def value_of(switch: str) -> str | None:
    """Return what follows a switch."""
    return sys.argv[sys.argv.index(switch) + 1] if switch in sys.argv else None


def die(how: int | str) -> None:
    """End at once."""
    sys.stderr.flush()
    if isinstance(how, str):
        os.kill(os.getpid(), signal.Signals[how])
        time.sleep(FOREVER_SECONDS)
    else:
        os._exit(how)


class Handler(BaseHTTPRequestHandler):
    """Answers as the scenario says."""

    protocol_version = "HTTP/1.1"
    start: dict[str, Any] = {}  # noqa: RUF012  # set once, before the server runs

    def do_GET(self) -> None:
        """/health, /props and /slots."""
        if self.path == "/health":
            polls = self.start.get("loading_polls", 0)
            self.start["loading_polls"] = polls - 1
            self.reply(503 if polls > 0 else 200, {"status": "loading" if polls > 0 else "ok"})
        elif self.headers.get("Authorization") != f"Bearer {self.start['key']}":
            self.reply(401, {"error": {"code": 401, "message": "Invalid API Key"}})
        elif self.path == "/props":
            path = self.start.get("model_path") or value_of("--model")
            self.reply(200, {"model_path": path, "total_slots": 1})
        else:
            self.reply(200, [{"id": 0, "n_ctx": 512}])

    def do_POST(self) -> None:
        """/v1/chat/completions."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        (FOLDER / "request.json").write_bytes(body)
        answers = self.start["answers"]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if "status" in answer:
            self.reply(answer["status"], answer["body"])
            return
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk in answer["chunks"]:
            if chunk == "die":
                die("SIGKILL")
            if chunk == "hang":
                time.sleep(FOREVER_SECONDS)
            data = chunk.encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def reply(self, status: int, data: Any) -> None:
        """Send JSON."""
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of requests."""


def main() -> None:
    """Answer a question about itself, or play."""
    asked = json.loads((FOLDER / "scenario.json").read_text(encoding="utf-8"))
    for switch, text in asked["questions"].items():
        if switch in sys.argv:
            sys.stdout.write(f"{text}\n")
            return
    start = next_start(asked["starts"])
    for line in start.get("lines", []):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    if "exit" in start:
        die(start["exit"])
    if start.get("stays_mute"):
        threading.Event().wait(FOREVER_SECONDS)
    Handler.start = start
    ThreadingHTTPServer(("127.0.0.1", int(value_of("--port") or 0)), Handler).serve_forever()


if __name__ == "__main__":
    main()
