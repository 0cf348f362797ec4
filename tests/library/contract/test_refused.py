"""What holds a secret in plain text is refused, wherever a template can have it; what refers to one is not."""

from __future__ import annotations

from typing import Any

import pytest
from support import Json

from holdfast.contract.refused import unacceptable


def refused(stack: Json | None = None, **properties: Any) -> list[str]:
    resources = {"X": {"Type": "AWS::X::Y", "Properties": properties}}
    return list(unacceptable({"stack": stack or {}, "template": {"Resources": resources}}))


@pytest.mark.parametrize(
    "text",
    [
        "AKIA" + "A" * 16,
        "ASIA" + "A" * 16,
        "-----BEGIN PRIVATE KEY-----",
        *(f"gh{kind}_{'a' * 36}" for kind in "pousr"),
        "github_pat_" + "a" * 22,
        *(f"xox{kind}-{'1' * 10}" for kind in "abeprs"),
        *(f"{kind}_{mode}_{'a' * 16}" for kind in ("sk", "rk") for mode in ("live", "test")),
        "https://user:word@example.com",
        f"eyJ{'a' * 10}.eyJ{'a' * 10}",
    ],
)
def test_what_looks_like_a_secret_is_refused_anywhere(text: str) -> None:
    assert refused(Anything=text) == [
        "template/Resources/X/Properties/Anything holds a secret: keep it in Secrets Manager, and refer to it"
    ]


@pytest.mark.parametrize(
    "name",
    [
        *("MasterUserPassword", "Passwords", "Passphrase", "AuthToken", "SecretString", "HECToken", "ClientSecret"),
        "PrivateKey",
    ],
)
def test_a_property_that_is_a_secret_is_refused(name: str) -> None:
    assert len(refused(None, **{name: "hunter2"})) == 1
    assert refused(None, **{name: {"Ref": "Secret"}}) == []


@pytest.mark.parametrize(
    "name",
    [
        *("DB_PASS", "DB_PASSWORD", "DB_PASSWD", "DB_PASSPHRASE", "SECRET", "TOKEN", "APIKEY", "API_KEY"),
        *("PRIVATEKEY", "PRIVATE_KEY", "AWS_ACCESS_KEY", "ACCESSKEY", "CREDENTIAL", "GCP_CREDENTIALS"),
        *("PASSWORD_OF_DB", "PASSWD_1", "SECRET_1", "TOKEN_1", "APIKEY_1", "API_KEY_1", "PRIVATEKEY_1"),
    ],
)
@pytest.mark.parametrize("value", ["hunter2", "7{{resolve:x}}"])
def test_a_variable_whose_name_says_so_is_refused(name: str, value: str) -> None:
    assert len(refused(Environment={"Variables": {name: value}})) == 1
    assert len(refused(EnvironmentVariables=[{"Name": name, "Value": value}])) == 1  # as Amplify has them
    assert len(refused(Environment=[{"Name": name, "Value": value}])) == 1
    assert refused(Labels={name: value}) == []


def test_a_number_is_a_setting_only_beside_the_name_of_a_secret() -> None:
    assert refused(Variables={"TOKEN_TTL_SECONDS": "300", "PASSWORD_LOGIN": "true"}) == []
    assert len(refused(Variables={"TOKEN": "300", "PASSWORD": "1234"})) == 2


@pytest.mark.parametrize("name", ["SECRET_ARN", "TOKEN_NAME", "TOKEN_ID", "SECRET_PATH", "TOKEN_URL", "tokenParam"])
def test_where_a_secret_is_is_not_one(name: str) -> None:
    assert refused(Variables={name: "hunter2"}) == []


@pytest.mark.parametrize("name", ["parameters", "Parameters"])
def test_parameters_are_looked_at(name: str) -> None:
    assert len(refused(None, **{name: {"token": "hunter2"}})) == 1
    assert refused(None, **{name: {"password_encryption": "scram-sha-256"}}) == []


def test_parameters_of_the_template_are_looked_at() -> None:
    parameters = {"GitHubToken": {"Type": "String", "Default": "hunter2"}, "Size": {"Default": "large"}}
    assert list(unacceptable({"template": {"Parameters": parameters}})) == [
        "template/Parameters/GitHubToken/Default is a secret in plain text: keep it in Secrets Manager, and refer to it"
    ]


def test_parts_of_a_secret_are_looked_at_whatever_they_are_called() -> None:
    assert len(refused(SecretString={"user": "a", "API_TOKEN_ID": "hunter2"})) == 1


def test_parameters_of_the_stack_are_looked_at() -> None:
    assert refused({"parameters": {"GitHubTokens": "hunter2", "Size": "large"}}) == [
        "stack/parameters/GitHubTokens is a secret in plain text: keep it in Secrets Manager, and refer to it"
    ]


@pytest.mark.parametrize(
    "function",
    [
        {"Fn::ImportValue": "exported"},
        {"Fn::FindInMap": ["Secrets", "prod", "name"]},
        {"Fn::GetAZs": "eu-west-1"},
        {"Fn::If": ["Live", {"Ref": "A"}, {"Ref": "B"}]},
        {"Fn::Select": ["0", {"Ref": "A"}]},
        {"Fn::Split": ["x", {"Ref": "A"}]},
    ],
)
def test_the_arguments_of_a_function_are_not_secrets(function: Json) -> None:
    assert refused(MasterUserPassword=function) == []


def test_what_a_function_chooses_from_is_looked_at() -> None:
    assert len(refused(MasterUserPassword={"Fn::If": ["Live", "hunter2", {"Ref": "B"}]})) == 1
    assert len(refused(MasterUserPassword={"Fn::Select": ["0", ["hunter2"]]})) == 1


def test_a_variable_of_a_build_has_a_type_beside_its_value() -> None:
    variable = {"Name": "DB_PASSWORD", "Value": "hunter2"}
    assert len(refused(EnvironmentVariables=[variable | {"Type": "PLAINTEXT"}])) == 1
    assert refused(EnvironmentVariables=[variable | {"Type": "PARAMETER_STORE"}]) == []
