"""Documents whose commands are run: each is typed in a copy of the repository, section by section.

In a ```console block, a line that begins with ``$ `` is a command, and what follows is its output. A line ``…`` stands
for lines that are left out, ``…`` at the end of a line for the rest of it. A ```diff block is applied. A comment above
a block says more: ``<!-- needs: emulator -->``, or ``<!-- not run: why -->``. Each section begins with the repository
as it is, on a branch of its own. UPDATE_DOCUMENTS=1 writes the output of today, with the same lines left out.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from repositories import git
from support import ROOT

from holdfast.contract import files
from stacks import incident

UPDATE = "UPDATE_DOCUMENTS"
LEFT_OUT = "…"
ACCOUNT = "123456789012"  # in documents, for whatever account it is
NOW = datetime.now(UTC)  # noqa: TID251, as the commands themselves ask the clock
END = "\x1e"  # after the output of each command
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- (not run|needs): (.+) -->\n\Z")
BESIDE = (".venv", "node_modules", "build")
# What another run has otherwise.
VOLATILE = (
    (re.compile(r"\b\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|\+00:00))?"), "DATE"),
    (re.compile(r"\b[0-9a-f]{7,64}\b"), "COMMIT"),
    (re.compile(r"\b\d+(\.\d+)? ?s\b"), "TIME s"),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "URL"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block, and where it is."""

    language: str
    text: str
    section: str
    line: int
    span: tuple[int, int]  # of the text
    needs: str | None
    not_run: str | None

    @property
    def commands(self) -> list[tuple[str, list[str]]]:
        """Each command with the output that is shown."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.startswith("> ") and not found[-1][1]:
                found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
            else:
                found[-1][1].append(line)
        return found


def blocks(document: Path) -> Iterator[Block]:
    text = document.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        before = text[: found.start()]
        mark = MARK.search(before)
        yield Block(
            language=found[1],
            text=found[2],
            section=(re.findall(r"^##+ (.+)$", before, re.MULTILINE) or [""])[-1],
            line=before.count("\n") + 1,
            span=found.span(2),
            needs=mark[2] if mark and mark[1] == "needs" else None,
            not_run=mark[2] if mark and mark[1] == "not run" else None,
        )


def repository(folder: Path) -> Path:
    """A copy with the commits of the incident, of which the last has the contracts of today."""
    skipped = (".git", ".holdfast", "cdk.out", ".*_cache", ".hypothesis", *BESIDE)
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*skipped))
    for name in BESIDE:
        (folder / name).symlink_to(ROOT / name)
    with (folder / ".gitignore").open("a") as ignored:
        ignored.writelines(f"{name}\n" for name in BESIDE)
    git(folder, "init", "-q", "-b", "main")
    contracts = {path.stem: json.loads(path.read_text()) for path in (folder / "snapshots").glob("*.json")}
    for message, when, made in incident.commits(contracts, NOW):
        for id_, contract in made.items():
            (folder / "snapshots" / f"{id_}.json").write_text(files.text(contract))
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", message, when=when)
    return folder


def environment(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    """What a shell has in which the copy is activated; nothing of it leads to an account unless ``more`` does."""
    dropped = re.compile(r"AWS_|HOLDFAST_|GIT_|PG|MAKE|MFLAGS|CI$|GITHUB_|PYTEST|COLUMNS|LINES")
    clean = {k: v for k, v in os.environ.items() if not dropped.match(k)}
    path = os.pathsep.join((str(ROOT / ".venv" / "bin"), clean.get("PATH", "")))
    who = {f"GIT_{role}_{what}": "you" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    quiet = {"NO_COLOR": "1", "PYTHONUNBUFFERED": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    cdk = {"CDK_DISABLE_CLI_TELEMETRY": "true", "CDK_DISABLE_VERSION_CHECK": "true"}
    return {**clean, **who, **quiet, **cdk, "PATH": path, "PYTHONPATH": str(folder / "constructs"), **more}


def reset(folder: Path) -> None:
    git(folder, "checkout", "-q", "-f", "-B", "change", "main")
    git(folder, "clean", "-fdq")


def apply(diff: str, folder: Path) -> None:
    """A diff of a document. Its hunks have no line numbers: they belong where their context is first."""
    for name, hunks in re.findall(
        r"^--- \S+\n\+\+\+ b/(\S+)\n(.*?)(?=^--- \S+\n\+\+\+ |\Z)", diff, re.MULTILINE | re.DOTALL
    ):
        path = folder / name
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for hunk in re.split(r"^@@.*\n", hunks, flags=re.MULTILINE)[1:]:
            lines = hunk.splitlines()
            before = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "+")
            after = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "-")
            assert before in text, f"{name} does not have\n{before}"
            text = text.replace(before, after, 1)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run(commands: Iterable[str], folder: Path, more: Mapping[str, str]) -> list[str]:
    """The output of each command, all of them typed into one shell."""
    account = more.get("AWS_ACCESS_KEY_ID", ACCOUNT)
    commands = [command.replace(ACCOUNT, account) for command in commands]
    script = "".join(
        f"{command}\n{{ status=$?; printf '{END}%s{END}' $status; (exit $status); }}\n" for command in commands
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment(folder, more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    outputs, statuses = done.stdout.split(END)[0:-1:2], done.stdout.split(END)[1::2]
    for command, output, status in zip(commands, outputs, statuses, strict=True):
        assert status in ("0", "1"), f"$ {command}\n{output}exit status {status}"
    return [output.replace(str(folder), "/home/you/estate").replace(account, ACCOUNT) for output in outputs]


def masked(line: str) -> str:
    for pattern, word in VOLATILE:
        line = pattern.sub(word, line)
    return line.rstrip()


def same(shown: str, line: str) -> bool:
    """Whether a line is as it is shown, volatile parts aside."""
    if shown.endswith(LEFT_OUT):
        return masked(line).startswith(masked(shown.removesuffix(LEFT_OUT)))
    return masked(shown) == masked(line)


def matches(shown: list[str], output: list[str]) -> bool:
    """Whether an output is what is shown of it, with any lines where lines are left out."""
    if not shown:
        return not output
    if shown[0] == LEFT_OUT:
        return any(matches(shown[1:], output[n:]) for n in range(len(output) + 1))
    return bool(output) and same(shown[0], output[0]) and matches(shown[1:], output[1:])


def renewed(shown: list[str], output: list[str]) -> list[str]:
    """What is to be shown instead: of each part that is shown, the lines that resemble it most."""
    if matches(shown, output):
        return shown
    parts = [part.splitlines() for part in "\n".join(shown).split(f"\n{LEFT_OUT}\n")] if shown else [[]]
    parts = [[line for line in part if line != LEFT_OUT] for part in parts]
    lines, rest = [LEFT_OUT] if shown[:1] == [LEFT_OUT] else [], output
    for number, part in enumerate(parts):
        starts = range(len(rest)) if lines or number else range(1)
        begin = max(starts, key=lambda n: _likeness(part, rest[n : n + len(part)]), default=0)
        end = len(rest) if part is parts[-1] and shown[-1:] != [LEFT_OUT] else begin + len(part)
        lines += [LEFT_OUT] if number else []
        lines += [_short(line, part) for line in rest[begin:end]]
        rest = rest[end:]
    lines += [LEFT_OUT] if shown[-1:] == [LEFT_OUT] else []
    assert matches(lines, output), "write by hand what is to be shown:\n" + "\n".join(output)
    return lines


def _likeness(shown: list[str], lines: list[str]) -> float:
    return sum(difflib.SequenceMatcher(None, a, b[: len(a)]).ratio() for a, b in zip(shown, lines, strict=False))


def _short(line: str, before: list[str]) -> str:
    """A line as it was shown if it still is so, or as far as one that resembles it was."""
    if shown := next((shown for shown in before if same(shown, line)), None):
        return shown
    near = difflib.get_close_matches(line, before, n=1, cutoff=0.3)
    if near and near[0].endswith(LEFT_OUT):
        last = " ".join(near[0].removesuffix(LEFT_OUT).split(" ")[-3:])
        end = line.find(last) + len(last) if last in line else len(near[0]) - 1
        return f"{line[:end]}{LEFT_OUT}"
    return line


def carried_out(
    document: Path,
    folder: Path,
    accounts: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    only: str | None = None,
) -> list[str]:
    """Runs a document, or only one section, in a copy of the repository; what is shown otherwise than it came out.

    ``accounts`` are the variables of the environment that what a block ``needs`` stands for.
    """
    section, wrong, text, moved = None, [], document.read_text(encoding="utf-8"), 0
    for block in blocks(document):
        if block.not_run or only not in (None, block.section):
            continue
        if block.section != section:
            reset(folder)
            section = block.section
        if block.language == "diff":
            apply(block.text, folder)
        if block.language != "console":
            continue
        shown = block.commands
        outputs = run([command for command, _ in shown], folder, accounts[block.needs] if block.needs else {})
        lines: list[str] = []
        for (command, before), output in zip(shown, outputs, strict=True):
            after = output.splitlines()
            if not matches(before, after):
                wrong.append(f"{document.name}:{block.line}: $ {command}\n{output}")
            lines += [f"$ {command}".replace("\n", "\n> "), *(renewed(before, after) if os.environ.get(UPDATE) else [])]
        if os.environ.get(UPDATE):
            new = "".join(f"{line}\n" for line in lines)
            text = text[: block.span[0] + moved] + new + text[block.span[1] + moved :]
            moved += len(new) - len(block.text)
    if os.environ.get(UPDATE):
        document.write_text(text, encoding="utf-8")
        return []
    return wrong
