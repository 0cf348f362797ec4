"""One comment on a pull request, replaced at every push (`python -m holdfast.report.pull_request PAGE`)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

MARK = "<!-- holdfast diff -->"  # by which the comment of the last push is found
PAGES, EACH = 30, 100
SECONDS = 30


def main(page: str, environment: Mapping[str, str] = os.environ) -> int:
    """Nothing but a wrong call ends with an error: the verdict is `holdfast diff`'s, and the summary has its text."""
    number = _number(environment)
    if number is None:
        print("holdfast: not a pull request: nothing to comment on", file=sys.stderr)
        return 0
    body = f"{MARK}\n{Path(page).read_text(encoding='utf-8')}"
    comments = f"/repos/{environment['GITHUB_REPOSITORY']}/issues/{number}/comments"
    try:
        own = next((c for c in _comments(environment, comments) if _is_own(c)), None)
        if own is None:
            _send(environment, "POST", comments, {"body": body})
        elif own["body"] != body:
            path = f"/repos/{environment['GITHUB_REPOSITORY']}/issues/comments/{own['id']}"
            _send(environment, "PATCH", path, {"body": body})
    except (OSError, ValueError, KeyError) as error:
        reason = (
            "a pull request from a fork has no right to" if _forbidden(error) else f"GitHub did not answer: {error}"
        )
        print(f"holdfast: no comment ({reason}); the job's summary says the same", file=sys.stderr)
    return 0


def _number(environment: Mapping[str, str]) -> int | None:
    path = environment.get("GITHUB_EVENT_PATH")
    event = json.loads(Path(path).read_bytes()) if path else {}
    number: int | None = event.get("pull_request", {}).get("number")
    return number


def _comments(environment: Mapping[str, str], path: str) -> Iterator[dict[str, Any]]:
    for page in range(1, PAGES + 1):
        found = _send(environment, "GET", f"{path}?per_page={EACH}&page={page}")
        yield from found
        if len(found) < EACH:
            return


def _is_own(comment: dict[str, Any]) -> bool:
    """The mark is not a secret: only a comment that a workflow wrote is replaced."""
    return str(comment.get("body", "")).startswith(MARK) and comment.get("user", {}).get("type") == "Bot"


def _forbidden(error: Exception) -> bool:
    return isinstance(error, HTTPError) and error.code in (401, 403, 404)


class _NoRedirect(HTTPRedirectHandler):
    """The token goes to the address that the runner names, and nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _send(environment: Mapping[str, str], method: str, path: str, content: Any = None) -> Any:
    request = Request(
        f"{environment.get('GITHUB_API_URL', 'https://api.github.com')}{path}",
        method=method,
        data=None if content is None else json.dumps(content).encode(),
        headers={
            "Authorization": f"Bearer {environment['GITHUB_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
            "User-Agent": "holdfast",
        },
    )
    with build_opener(_NoRedirect).open(request, timeout=SECONDS) as answer:
        return json.loads(answer.read())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
