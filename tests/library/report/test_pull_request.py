"""The one comment on a pull request, against a server on loopback that keeps comments as GitHub does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from holdfast.report.pull_request import MARK, main

REPOSITORY = "acme/estate"
TOKEN = "of this job"


@dataclass
class Server:
    """What stands at pull request 7; ``answer`` is how writing is answered."""

    address: str = ""
    answer: int = 200
    comments: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def github() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            first = (int(query["page"][0]) - 1) * (each := int(query["per_page"][0]))
            self.reply(200, state.comments[first : first + each])

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if state.answer == 200:
                state.comments.append({"id": len(state.comments), "user": {"type": "Bot"}, **body})
            self.reply(state.answer, {})

        def do_PATCH(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.comments[int(self.path.rpartition("/")[2])] |= body
            self.reply(200, {})

        def reply(self, code: int, content: Any) -> None:
            assert self.headers["Authorization"] == f"Bearer {TOKEN}"
            state.asked.append(f"{self.command} {urlsplit(self.path).path}")
            self.send_response(code)
            if code == 302:
                self.send_header("Location", f"{state.address}/elsewhere")
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text("1 weakened → look", encoding="utf-8")
    return path


def environment(github: Server, tmp_path: Path, event: Any = None) -> dict[str, str]:
    path = tmp_path / "event.json"
    path.write_text(json.dumps({"pull_request": {"number": 7}} if event is None else event))
    return {
        "GITHUB_API_URL": github.address,
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_EVENT_PATH": str(path),
    }


def test_one_comment_is_made_and_then_replaced(github: Server, page: Path, tmp_path: Path) -> None:
    strangers = [{"id": n, "user": {"type": "User"}, "body": f"{MARK} look at me"} for n in range(100)]
    github.comments += strangers  # a page full of them
    env = environment(github, tmp_path)
    for text in ("1 weakened → look", "nothing differs"):
        page.write_text(text, encoding="utf-8")
        assert main(str(page), env) == 0
        assert [c["body"] for c in github.comments[100:]] == [f"{MARK}\n{text}"]
    assert github.comments[:100] == strangers
    written = [a for a in github.asked if not a.startswith("GET")]
    comments = f"/repos/{REPOSITORY}/issues"
    assert written == [f"POST {comments}/7/comments", f"PATCH {comments}/comments/100"]
    assert main(str(page), env) == 0  # the same again: nothing is written
    assert [a for a in github.asked if not a.startswith("GET")] == written


@pytest.mark.parametrize(
    ("answer", "says"), [(403, "a pull request from a fork"), (500, "did not answer"), (302, "did not answer")]
)
def test_what_cannot_be_commented_is_said_and_ends_well(
    answer: int, says: str, github: Server, page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    github.answer = answer
    assert main(str(page), environment(github, tmp_path)) == 0
    err = capsys.readouterr().err
    assert says in err
    assert err.endswith("the job's summary says the same\n")
    assert not [a for a in github.asked if "elsewhere" in a]


def test_a_push_has_no_pull_request(
    github: Server, page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(str(page), environment(github, tmp_path, {"ref": "refs/heads/main"})) == 0
    assert main(str(page), {}) == 0
    assert github.asked == []
    assert "not a pull request" in capsys.readouterr().err
