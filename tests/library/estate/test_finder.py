"""Which estate a command takes: the one that is named, imported by path, and never another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from declare import SHOP
from support import ROOT

from holdfast.model.located import declarations

NAMED = '[tool.holdfast]\nestate = "{}"\n'
NONE = (
    'holdfast: no estate is named here: write estate = "stacks:ESTATE" below [tool.holdfast] in pyproject.toml or '
    "holdfast.toml, or give --estate module:NAME\n"
)


def repository(folder: Path, table: str = "orders", *, imports: str = "", named: str = "infra:ESTATE") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "infra.py").write_text(SHOP.format(table=table, imports=imports))
    (folder / "pyproject.toml").write_text(NAMED.format(named))
    return folder


def holdfast(folder: Path, *arguments: str, **variables: str) -> tuple[int, str, str]:
    """The installed command, as the working folder's user runs it."""
    code = "import sys; from holdfast.cli import main; sys.exit(main())"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "HOLDFAST_"))}
    env |= {"PYTHONPATH": str(ROOT / "constructs"), "AWS_EC2_METADATA_DISABLED": "true", **variables}
    line = [sys.executable, "-P", "-c", code, *arguments]
    done = subprocess.run(line, cwd=folder, env=env, capture_output=True, encoding="utf-8", check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["list"],
        ["lint"],
        ["waivers"],
        ["docs", "--check"],
        ["audit", "--env", "prod"],
        ["fix", "--env", "prod"],
        ["fix", "--env", "prod", "--apply", "--account", "123456789012"],
        ["local", "up"],
    ],
    ids=" ".join,
)
def test_without_an_estate_there_is_one_line_that_says_how_to_name_one(command: list[str], tmp_path: Path) -> None:
    assert holdfast(tmp_path, *command) == (2, "", NONE)
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".lock"]


def test_a_check_needs_an_estate_or_contracts(tmp_path: Path) -> None:
    code, out, err = holdfast(tmp_path, "check")
    assert (code, out) == (2, "")
    assert err.startswith("holdfast: there is neither a contract nor an estate here: ")


@pytest.mark.parametrize("inside", [".", "deep/in/it"])
@pytest.mark.parametrize("file", ["pyproject.toml", "holdfast.toml"])
def test_the_project_file_is_found_upwards(inside: str, file: str, tmp_path: Path) -> None:
    repository(tmp_path).joinpath("pyproject.toml").rename(tmp_path / file)
    (tmp_path / inside).mkdir(parents=True, exist_ok=True)
    code, out, err = holdfast(tmp_path / inside, "list", "--env", "prod")
    assert (code, err) == (0, "")
    assert "orders-prod" in out
    assert "shop-cache" not in out  # nor anything else that is declared


def test_the_search_ends_at_the_root_of_the_repository(tmp_path: Path) -> None:
    inner = repository(tmp_path) / "clone"
    (inner / ".git").mkdir(parents=True)
    assert holdfast(inner, "list") == (2, "", NONE)


def test_what_is_asked_for_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    repository(tmp_path, "filed")
    for name in ("set", "asked"):
        (tmp_path / f"{name}.py").write_text(SHOP.format(table=name, imports=""))
    found = {
        "filed": holdfast(tmp_path, "list", "--env", "prod"),
        "set": holdfast(tmp_path, "list", "--env", "prod", HOLDFAST_ESTATE="set:ESTATE"),
        "asked": holdfast(tmp_path, "list", "--env", "prod", "--estate", "asked:ESTATE", HOLDFAST_ESTATE="set:ESTATE"),
    }
    for name, (code, out, _) in found.items():
        assert code == 0
        assert [n for n in found if f"{n}-prod" in out] == [name]


def test_packages_and_folders_in_folders_are_imported_by_path(tmp_path: Path) -> None:
    package = tmp_path / "infra" / "data"
    package.mkdir(parents=True)
    (package / "shop.py").write_text(SHOP.format(table="orders", imports=""))
    (package / "__init__.py").write_text("from infra.data.shop import ESTATE\n")
    (tmp_path / "holdfast.toml").write_text(NAMED.format("infra.data:ESTATE"))
    code, out, err = holdfast(tmp_path, "list", "--env", "prod")
    assert (code, err) == (0, "")
    assert "orders-prod" in out


def test_nothing_else_of_the_working_folder_is_imported(tmp_path: Path) -> None:
    repository(tmp_path)
    for name in ("botocore", "json", "tomllib", "stacks", "holdfast", "psycopg"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} of the working folder was run')\n")
    code, _, err = holdfast(tmp_path, "list", "--env", "prod")
    assert (code, err) == (0, "")
    code, _, err = holdfast(tmp_path, "audit", "--env", "prod", AWS_CONFIG_FILE="none", HOME=str(tmp_path))
    assert code == 2
    assert "there are no usable credentials" in err
    code, _, err = holdfast(repository(tmp_path, imports="import helpers"), "list")
    assert code == 2
    assert err == "holdfast: infra.py, line 3: No module named 'helpers'\n"


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("infra", "'infra' is not module:NAME, such as stacks:ESTATE"),
        ("../infra:ESTATE", "'../infra:ESTATE' is not module:NAME, such as stacks:ESTATE"),
        (":ESTATE", "':ESTATE' is not module:NAME, such as stacks:ESTATE"),
        ("gone:ESTATE", "there is no gone.py or gone/__init__.py in "),
        ("infra:OTHER", "OTHER is missing; it has to be a holdfast.Estate(…)"),
        ("infra:STACK", "STACK is a Stack; it has to be a holdfast.Estate(…)"),
    ],
)
def test_a_wrong_name_is_one_line(named: str, said: str, tmp_path: Path) -> None:
    code, out, err = holdfast(repository(tmp_path, named=named), "list", PYTHONUTF8="1")
    assert (code, out) == (2, "")
    assert said in err
    assert str(tmp_path) in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.holdfast", "is not TOML"),
        ("[tool.holdfast]\nestate = 7\n", "the estate is a text"),
        ("[tool]\nholdfast = 7\n", "names no estate"),
        ("", "names no estate"),
        ("tool = 1", "names no estate"),
        ("x = " + "[" * 5000, "is not TOML"),
    ],
)
def test_a_wrong_project_file_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text(text)
    code, out, err = holdfast(tmp_path, "list")
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_slip_in_a_declaration_is_one_line_with_its_place(tmp_path: Path) -> None:
    repository(tmp_path)
    text = (tmp_path / "infra.py").read_text().replace("            data=Data.OPERATIONAL,\n", "")
    (tmp_path / "infra.py").write_text(text)
    code, out, err = holdfast(tmp_path, "list")
    assert (code, out) == (2, "")
    assert err.startswith("holdfast: infra.py, line 9: Table orders-{env}: data is missing")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")
@pytest.mark.parametrize("theirs", ["pyproject.toml", "infra.py"])
def test_what_another_user_put_above_is_not_run(theirs: str, tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "infra.py").write_text("raise SystemExit('ran')\n")
    os.chown(tmp_path / theirs, 65534, 65534)
    (tmp_path / "mine").mkdir()
    code, out, err = holdfast(tmp_path / "mine", "list")
    assert (code, out) == (2, "")
    assert err == f"holdfast: {tmp_path / theirs} belongs to another user: an estate is code, and only yours is run\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise SystemExit('bye')", "line 1: bye"),
        ("x = '\0'", "Python cannot read it"),
        ("def __getattr__(name):\n    raise ValueError(name)", "ESTATE is missing"),
        ("import time\n1 / 0", "line 2: division by zero"),
    ],
)
def test_an_estate_that_ends_breaks_or_plays_tricks_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    repository(tmp_path).joinpath("infra.py").write_text(text)
    code, out, err = holdfast(tmp_path, "list")
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_module_alone_is_read_alone(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "vendored").mkdir()
    (tmp_path / "vendored" / "other.py").write_text('Table(name="orders-{env}", data=PERSONAL)\n')
    os.mkfifo(tmp_path / "vendored" / "endless.py")
    (found,) = declarations(tmp_path / "infra.py").values()
    assert found.where.startswith("infra.py:")
    assert set(declarations(tmp_path / "vendored")) == {"orders-{env}"}
