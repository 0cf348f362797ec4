"""The commands that findings print, and how each is run: as the call that it makes, or by Holdfast itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import datetime
from io import StringIO
from typing import Any

from botocore import xform_name
from emulator import Aws

from holdfast.cli import main

PRINTED = re.compile(r"`((?:aws|cdk|holdfast) [^`]*)`|\b((?:aws|holdfast) [a-z-]+ [^;`]*)")


def commands(text: str) -> list[str]:
    return [(ticked or bare).strip() for ticked, bare in PRINTED.findall(text)]


def run(aws: Aws, command: str, *, estate: str, now: datetime, deploy: Callable[[str], None]) -> None:
    """One printed command; whatever refuses it fails the test. ``deploy`` does what a line for the CDK CLI asks."""
    words = shlex.split(command)
    if words[0] == "aws":
        call(aws, words[1:])
    elif words[0] == "holdfast":
        shown = [line for line in _holdfast(aws, words[1:], estate, now).splitlines() if line.startswith("aws ")]
        assert shown, command
        for line in shown:
            call(aws, shlex.split(line)[1:])
    else:
        deploy(command)  # the CLI itself: test_e2e.py


def _holdfast(aws: Aws, words: list[str], estate: str, now: datetime) -> str:
    """What a printed command shows, with the account options that this audit has."""
    told = ["--consumers-have-the-key"] if "HF007" in words else []
    place = ["--estate", estate, "--endpoint-url", aws.endpoint, "--account", aws.account]
    with redirect_stdout(StringIO()) as shown:
        assert main([*words, *told, *place], now=now) == 1
    return shown.getvalue()


def call(aws: Aws, words: list[str]) -> None:
    """A line for the AWS CLI as the call that it makes, by the service's own model."""
    region = words[words.index("--region") + 1]
    client = aws.client(words[0], region)
    (operation,) = [o for o in client.meta.service_model.operation_names if xform_name(o, "-") == words[1]]
    members = client.meta.service_model.operation_model(operation).input_shape.members
    options = {xform_name(name, "-"): (name, shape) for name, shape in members.items()}
    given: dict[str, list[str]] = {}
    for word in words[2:]:
        if word.startswith("--"):
            given[word[2:]] = []
        else:
            given[list(given)[-1]].append(word)
    del given["region"]
    assert given.pop("endpoint-url", [aws.endpoint]) == [aws.endpoint]
    client._make_api_call(operation, {options[n][0]: _value(options[n][1], texts) for n, texts in given.items()})


def _value(shape: Any, texts: list[str]) -> Any:
    match shape.type_name:
        case "boolean":
            return not texts or texts == ["true"]
        case "structure":
            parts = dict(part.split("=", 1) for part in texts[0].split(","))
            return {name: _value(shape.members[name], [text]) for name, text in parts.items()}
        case "list":
            return [_value(shape.member, [text]) for text in texts]
        case "integer" | "long":
            return int(texts[0])
        case _:
            return texts[0]
