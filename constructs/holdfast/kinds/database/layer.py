"""What the functions of a database need beside Lambda's own Python: `holdfast layer` builds it into build/layer.

Only from files that the library carries, so that a release builds the same layer everywhere.
"""

from __future__ import annotations

import hashlib
import shutil
import ssl
import subprocess
import sys
from functools import cache
from pathlib import Path

from holdfast.errors import InputError
from holdfast.model.declaration import DeclarationError

HOME = Path(__file__).parents[2] / "functions" / "database"
LOCK, AUTHORITIES = HOME / "layer.lock", HOME / "rds-ca.pem"
FOLDER = Path("build", "layer")  # below the root of the project
NEW = "run `holdfast layer`"
# For the Python and the processor of the functions, and nothing beyond the lock: what pip resolves by itself, it
# resolves for the Python that it runs on.
PIP = (
    *("install", "--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps", "--require-hashes"),
    *("--only-binary=:all:", "--platform", "manylinux_2_28_aarch64", "--implementation", "cp"),
    *("--python-version", "3.14"),
)


def build(root: Path, authorities: Path | None = None) -> Path:
    """Builds the layer anew, beside the one that is there: whatever stops it leaves that one whole."""
    target = root / FOLDER
    partial = target.with_name("layer.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    known = (authorities or AUTHORITIES).read_bytes()
    _names(known)
    command = [sys.executable, "-m", "pip", *PIP, "--target", str(partial / "python"), "-r", str(LOCK)]
    if subprocess.run(command, check=False).returncode:
        raise InputError(f"pip could not install {LOCK.name} (see above): the layer is as it was")
    (partial / AUTHORITIES.name).write_bytes(known)
    shutil.rmtree(target, ignore_errors=True)
    return partial.rename(target)


def built(root: Path, region: str) -> Path:
    """The folder of the layer, if it is the one that this release and a database in that region need."""
    folder = (root / FOLDER).resolve()
    authorities = folder / AUTHORITIES.name
    if not authorities.is_file():
        raise DeclarationError(f"the layer of the database functions is not built: {NEW}")
    for name, version in pinned():
        if not (folder / "python" / f"{name.replace('-', '_')}-{version}.dist-info").is_dir():
            raise DeclarationError(f"the layer of the database functions lacks {name} {version}: {NEW} again")
    if not any(f" {region} " in name for name in _names(authorities.read_bytes())):
        raise DeclarationError(
            f"the layer of the database functions knows no authority of RDS in {region}: "
            "download its bundle from AWS, and run `holdfast layer --authorities FILE`"
        )
    return folder


def made_from(folder: Path) -> str:
    """A hash that is the same wherever it is built: the same wheel unpacked twice may differ in its times."""
    return hashlib.sha256(LOCK.read_bytes() + (folder / AUTHORITIES.name).read_bytes()).hexdigest()


def pinned() -> list[tuple[str, str]]:
    """Names and versions of the lock."""
    pins = [line.split(" ")[0].partition("==") for line in LOCK.read_text().splitlines() if "==" in line]
    return [(name, version) for name, _, version in pins]


@cache
def _names(authorities: bytes) -> tuple[str, ...]:
    """Whose certificates a bundle holds: one is of "Amazon RDS us-east-1 Root CA RSA2048 G1"."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=authorities.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError):
        said = "the authorities of the layer are not certificates in PEM: give AWS's bundle as it is"
        raise DeclarationError(said) from None
    return tuple(str(c.get("subject")) for c in context.get_ca_certs())
