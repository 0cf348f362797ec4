"""The same template in other words: what CloudFormation takes as the same, at places chosen by chance."""

from __future__ import annotations

import json
import random
from typing import Any

from support import Json

from holdfast.cfn.facts import Property, facts

ROOT_USER = {"Fn::Join": ["", ["arn:aws:iam::", {"Ref": "AWS::AccountId"}, ":root"]]}
OTHER_ROOTS = (
    {"Ref": "AWS::AccountId"},
    {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"},
    {"Fn::Join": [":", ["arn", {"Ref": "AWS::Partition"}, "iam:", {"Ref": "AWS::AccountId"}, "root"]]},
)


def respelled(template: Json, chosen: random.Random) -> Json:
    """Functions, scalars, sets, policies and texts of JSON in another spelling, and CDK's own bookkeeping added."""
    spell = _Spelling(chosen)
    resources = {k: spell.resource(k, r) for k, r in spell.shuffled(template["Resources"]).items()}
    resources["Never"] = {"Type": "AWS::S3::Bucket", "Condition": "Never"}
    resources["CDKMetadata"] = {
        "Type": "AWS::CDK::Metadata",
        "Properties": {"Analytics": "v2:deflate64:H4sIAAAAAAAA"},
        "Condition": "CDKMetadataAvailable",
    }
    outdated = {"Fn::Contains": [["1", "2", "3", "4", "5"], {"Ref": "BootstrapVersion"}]}
    return spell.shuffled(
        {
            **{k: v for k, v in template.items() if k != "Resources"},
            "AWSTemplateFormatVersion": "2010-09-09",
            "Description": "in other words",
            "Metadata": {**template.get("Metadata", {}), "aws:cdk:version": "2"},
            "Resources": resources,
            "Parameters": {
                **template.get("Parameters", {}),
                "Unused": {"Type": "String"},
                "BootstrapVersion": {
                    "Type": "AWS::SSM::Parameter::Value<String>",
                    "Default": "/cdk-bootstrap/hnb659fds/version",
                },
            },
            "Rules": {"CheckBootstrapVersion": {"Assertions": [{"Assert": {"Fn::Not": [outdated]}}]}},
            "Mappings": {**template.get("Mappings", {}), "Words": spell.words},
            "Conditions": {
                **template.get("Conditions", {}),
                "Always": {"Fn::Not": [{"Condition": "Never"}]},
                "Never": {"Fn::Equals": ["a", {"Fn::Sub": "b"}]},
                "CDKMetadataAvailable": {"Fn::Equals": [{"Ref": "AWS::Region"}, "us-east-1"]},
            },
        }
    )


class _Spelling:
    def __init__(self, chosen: random.Random) -> None:
        self.chosen = chosen
        self.words: Json = {"all": {"none": ""}}

    def sometimes(self) -> bool:
        return self.chosen.random() < 0.3

    def shuffled(self, tree: Json) -> Json:
        return dict(self.chosen.sample(list(tree.items()), len(tree)))

    def resource(self, logical_id: str, resource: Json) -> Json:
        properties = self.value(resource.get("Properties", {}), facts(resource["Type"]).properties)
        found = {**resource, "Properties": properties}
        if "DependsOn" in found:
            names = self.chosen.sample(found["DependsOn"], len(found["DependsOn"]))
            found["DependsOn"] = names[0] if len(names) == 1 else [*names, names[0]]
        found["Metadata"] = {**resource.get("Metadata", {}), "aws:cdk:path": f"App/{logical_id}"}
        if self.sometimes() and "Condition" not in found:
            found["Condition"] = "Always"
        return self.shuffled(found)

    def value(self, tree: Any, place: Property) -> Any:
        made = self._value(tree, place)
        if self.sometimes() and self.sometimes() and not place.free_json:
            return {"Fn::If": ["Always", made, {"Ref": "AWS::NoValue"}]}
        return made

    def _value(self, tree: Any, place: Property) -> Any:
        if isinstance(tree, dict):
            if place.unordered and not _is_function(tree):  # tags
                tags = [{"Key": k, "Value": self.value(v, Property())} for k, v in tree.items()]
                return self.chosen.sample(tags, len(tags))
            if _is_function(tree):
                return self.function(tree)
            if "Statement" in tree and isinstance(tree["Statement"], list):
                return self.policy(tree)
            found = {k: self.value(v, place.part(k)) for k, v in tree.items()}
            return self.shuffled({**found, **({"Nothing": {"Ref": "AWS::NoValue"}} if self.sometimes() else {})})
        if isinstance(tree, list):
            items = [self.value(v, place.part("*")) for v in tree]
            return self.chosen.sample(items, len(items)) if place.unordered else items
        return self.scalar(tree, place)

    def scalar(self, leaf: Any, place: Property) -> Any:
        if not self.sometimes():
            return leaf
        if isinstance(leaf, bool) and place.scalar == "boolean":
            return "true" if leaf else "false"
        if isinstance(leaf, int) and place.scalar in ("integer", "number"):
            return str(leaf)
        if isinstance(leaf, str) and "${" not in leaf and not leaf.startswith(("{", "[")):
            word = f"w{len(self.words['all'])}"
            self.words["all"][word] = leaf
            return self.chosen.choice(
                [
                    {"Fn::Sub": leaf},
                    {"Fn::Join": ["", [leaf[:3], leaf[3:]]]},
                    {"Fn::Sub": ["${Word}", {"Word": leaf}]},
                    {"Fn::FindInMap": ["Words", "all", word]},
                    {"Fn::Select": ["1", ["another", leaf]]},
                ]
            )
        return leaf

    def function(self, tree: Json) -> Any:
        match tree:
            case {"Fn::GetAtt": [name, attribute]} if isinstance(attribute, str):
                return self.chosen.choice(
                    [tree, {"Fn::GetAtt": f"{name}.{attribute}"}, {"Fn::Sub": f"${{{name}.{attribute}}}"}]
                )
            case {"Ref": str(name)} if self.sometimes():
                return {"Fn::Sub": f"${{{name}}}"}
            case {"Fn::Join": ["", parts]} if len(parts) > 1:
                return self.chosen.choice([tree, self.sub(parts), {"Fn::Join": ["", [tree]]}])
            case {"Fn::ToJsonString": inner} if not _holds_function(inner):
                return json.dumps(inner, indent=self.chosen.choice([None, 1, 4]))
        return tree

    def sub(self, parts: list[Any]) -> Json:
        """The same as Fn::Sub, whose holes are named or given."""
        given: Json = {}
        text = ""
        for number, part in enumerate(parts):
            match part:
                case str():
                    text += part.replace("${", "${!")
                case {"Ref": str(name)}:
                    text += f"${{{name}}}"
                case _:
                    given[f"P{number}"] = part
                    text += f"${{P{number}}}"
        return {"Fn::Sub": [text, given]} if given else {"Fn::Sub": text}

    def policy(self, policy: Json) -> Any:
        statements = [self.statement(s) for s in policy["Statement"]]
        statements = self.chosen.sample(statements, len(statements))
        made = {**policy, "Statement": statements[0] if len(statements) == 1 else statements}
        return self.shuffled(made)

    def statement(self, statement: Any) -> Any:
        if _is_function(statement):
            return statement
        found = {k: self.one_or_more(v) if k in ("Action", "Resource") else v for k, v in statement.items()}
        principal = found.get("Principal")
        if isinstance(principal, dict) and not _is_function(principal):
            found["Principal"] = {k: self.one_or_more([self.root(p) for p in v]) for k, v in principal.items()}
        if isinstance(condition := found.get("Condition"), dict) and not _is_function(condition):
            found["Condition"] = {
                how: {k: self.one_or_more(v) for k, v in of.items()} for how, of in self.shuffled(condition).items()
            }
        return self.shuffled(found)

    def root(self, principal: Any) -> Any:
        return self.chosen.choice([principal, *OTHER_ROOTS]) if principal == ROOT_USER else principal

    def one_or_more(self, items: list[Any]) -> Any:
        mixed = self.chosen.sample(items, len(items))
        return mixed[0] if len(mixed) == 1 and self.sometimes() else mixed


def _is_function(tree: Any) -> bool:
    return isinstance(tree, dict) and len(tree) == 1 and next(iter(tree)).startswith(("Fn::", "Ref"))


def _holds_function(tree: Any) -> bool:
    if _is_function(tree):
        return True
    return any(
        map(_holds_function, tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ())
    )
