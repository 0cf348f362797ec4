"""What is private stays private, and what comes from outside neither runs nor deceives."""

from __future__ import annotations

import os
import stat
import subprocess
import unicodedata
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from histories import commit, protected, write
from repositories import git

from holdfast.contract import history
from holdfast.contract.history import History
from holdfast.contract.since import since
from holdfast.files import append_private, private_folder, write_private
from holdfast.text import printable

DAY = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def generous() -> object:
    """Whoever runs it lets others read everything."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_private_files_and_folders_are_the_users_alone(generous: object, tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "a" / "b")
    assert (mode(tmp_path / "a"), mode(folder)) == (0o700, 0o700)
    file = folder / "record.json"
    file.write_text("an older version")
    file.chmod(0o644)
    with file.open() as opened_before:
        write_private(file, "é")
        assert opened_before.read() == "an older version"
    assert (mode(file), file.read_text(encoding="utf-8")) == (0o600, "é")
    folder.chmod(0o755)
    assert mode(private_folder(folder)) == 0o700


def test_links_that_lead_elsewhere_are_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o755)
    (tmp_path / ".holdfast").symlink_to(victim)
    with pytest.raises(NotADirectoryError, match="symbolic link that leads elsewhere"):
        private_folder(tmp_path / ".holdfast")
    assert mode(victim) == 0o755
    (victim / "file").write_text("kept")
    (tmp_path / "local.lock").symlink_to(victim / "file")
    with pytest.raises(OSError, match="symbolic link"):
        append_private(tmp_path / "local.lock")
    assert (victim / "file").read_text() == "kept"
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "victim").symlink_to(victim)  # the demo's repository shares the folder of the same name
    assert mode(private_folder(tmp_path / "deep" / "victim")) == 0o700


CONFIGURED = {
    "core.fsmonitor": "{run}",
    "core.pager": "{run}",
    "pager.blame": "{run}",
    "core.hooksPath": "hooks",
    "core.sshCommand": "{run}",
    "core.gitProxy": "{run}",
    "core.editor": "{run}",
    "core.askPass": "{run}",
    "core.alternateRefsCommand": "{run}",
    "credential.helper": "!{run}",
    "diff.external": "{run}",
    "diff.evil.textconv": "{run}",
    "diff.evil.command": "{run}",
    "filter.evil.clean": "{run}",
    "filter.evil.smudge": "{run}",
    "filter.evil.process": "{run}",
    "gpg.program": "{run}",
    "log.showSignature": "true",
    "blame.ignoreRevsFile": "nowhere",
    "alias.blame": "!{run}",
    "alias.cat-file": "!{run}",
    "alias.rev-parse": "!{run}",
    "alias.rev-list": "!{run}",
    "alias.merge-base": "!{run}",
    "alias.symbolic-ref": "!{run}",
    "alias.ls-tree": "!{run}",
    "gpg.ssh.program": "{run}",
    "gpg.x509.program": "{run}",
    "merge.evil.driver": "{run}",
    "pager.log": "{run}",
    "pager.rev-list": "{run}",
    "interactive.diffFilter": "{run}",
    "remote.origin.url": "ext::{run}",
    "remote.origin.promisor": "true",
    "remote.origin.uploadpack": "{run}",
    "remote.origin.partialclonefilter": "blob:none",
    "extensions.partialClone": "origin",
    "protocol.ext.allow": "always",
}


def test_no_configuration_of_a_repository_makes_git_run_anything(tmp_path: Path) -> None:
    """Against git itself: a plain log of the same file does run what is configured."""
    clone, ran, script = tmp_path / "clone", tmp_path / "ran", tmp_path / "script"
    script.write_text(f'#!/bin/sh\necho ran >> "{ran}"\nexit 1\n')
    script.chmod(0o755)
    clone.mkdir()
    (clone / ".gitattributes").write_text("*.json filter=evil diff=evil merge=evil\n")
    git(clone, "init", "-q", "-b", "main")
    for on, when in ((False, DAY - timedelta(days=9)), (True, DAY)):
        commit(clone, when, Shop_prod=protected(on=on))
    (clone / "hooks").mkdir()
    for hook in ("post-index-change", "pre-commit", "post-checkout", "reference-transaction"):
        (clone / "hooks" / hook).symlink_to(script)
    for name, value in CONFIGURED.items():
        git(clone, "config", name, value.format(run=script))
    write(clone, Else=protected("Else"))

    assert dated(clone) == DAY
    assert not ran.exists()
    lost = next(p for p in (clone / ".git" / "objects").rglob("*") if p.is_file() and len(p.name) == 38)
    lost.unlink()  # git would fetch it from where the repository says
    dated(clone)
    assert not ran.exists()

    with pytest.raises(subprocess.CalledProcessError):
        git(clone, "log", "-p", "--", "snapshots")
    assert ran.exists(), "the trap is none"


def dated(folder: Path) -> datetime | None:
    found = history.read(folder)
    paths = ("AWS::DynamoDB::Table Properties/DeletionProtectionEnabled",)
    commit = since(found, "Shop-prod", "orders", paths, None).commit
    assert commit is None or isinstance(found, History)
    return commit.when if commit else None


def test_what_steers_turns_or_hides_is_shown_as_what_it_is() -> None:
    assert printable("a\x1b[2J\nb\u202ec\u2066\u200bd\x9be\ud800\U000e0041") == (
        r"a\x1b[2J\nb\u202ec\u2066\u200bd\x9be\ud800\U000e0041"
    )
    for text in ("orders", "Ünïcode, 表, 🙂", "a b"):
        assert printable(text) == text
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    passed = [
        chr(n)
        for n in range(0x110000)
        if unicodedata.category(chr(n)) in hidden and unicodedata.bidirectional(chr(n)) != "AN"
        if printable(chr(n)) == chr(n)
    ]
    # What is left draws signs of its own: of numbers, of notes, of hieroglyphs, of shorthand.
    assert all(unicodedata.category(c) == "Cf" and ord(c) > 0x600 for c in passed)
    assert not [c for c in passed if unicodedata.bidirectional(c) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI"}]
