"""Reads who uses tables, by functions, event sources, IAM and resource policies, and who may use a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.audit import mentions
from holdfast.audit.consumers import Grant, NewKey, Principal, Statement, Surroundings, Use, principals_of, statements
from holdfast.aws import calls
from holdfast.aws.failure import CallError
from holdfast.aws.session import Api
from holdfast.cfn import bounded
from holdfast.shared.calls import Call
from holdfast.unknown import Unknown

READ: tuple[Call, ...] = (
    calls.FUNCTIONS,
    calls.EVENT_SOURCES,
    calls.POLICIES,
    calls.RESOURCE_POLICY,
    calls.DESCRIBE_KEY,
    calls.KEY_POLICY,
    calls.GRANTS,
)
# AWS's own policies, too: an audit need not know what they allow.
KINDS = ["User", "Role", "Group", "LocalManagedPolicy", "AWSManagedPolicy"]
Json = dict[str, Any]


def new_key(api: Api, account: str, alias: str) -> NewKey | Unknown:
    """The key behind an alias, with its policy and its grants."""
    try:
        arn = str(api.call(calls.DESCRIBE_KEY, KeyId=alias)["KeyMetadata"]["Arn"])
    except CallError as failure:
        return Unknown(failure.reason)
    return NewKey(arn=arn, account=account, region=api.region, policy=_key_policy(api, arn), grants=_grants(api, arn))


def _key_policy(api: Api, arn: str) -> tuple[Statement, ...] | Unknown:
    try:
        return statements(bounded.tree(api.call(calls.KEY_POLICY, KeyId=arn, PolicyName="default")["Policy"]))
    except CallError as failure:
        return Unknown(f"the key policy could not be read: {failure.reason}")
    except (TypeError, ValueError):
        return Unknown("the key policy cannot be understood")


def _grants(api: Api, arn: str) -> tuple[Grant, ...] | Unknown:
    listed = _listed(api, calls.GRANTS, KeyId=arn)
    if isinstance(listed, Unknown):
        return Unknown(f"grants of the key could not be read: {listed.reason}")
    return tuple(
        Grant(arn=str(g.get("GranteePrincipal")), actions=frozenset(g.get("Operations", ())))
        for g in listed
        if not g.get("Constraints")
    )


def surroundings(api: Api, tables: Mapping[str, str]) -> Surroundings:
    """Who uses ``tables``, which are ARNs by name, and what every role and user may do."""
    unread: list[str] = []
    functions = _listed(api, calls.FUNCTIONS)
    sources = _listed(api, calls.EVENT_SOURCES)
    uses: list[Use] = []
    if isinstance(functions, Unknown):
        unread.append(f"which functions use them ({functions.reason})")
    else:
        uses += _functions(functions, tables)
        unread += [f"whether function {f['FunctionName']} uses them (its variables)" for f in functions if _closed(f)]
    if isinstance(sources, Unknown):
        unread.append(f"which functions read their streams ({sources.reason})")
    else:
        uses += _streams(sources, tables, {} if isinstance(functions, Unknown) else _roles(functions))
    for name, arn in tables.items():
        found = _shared(api, name, arn)
        uses += [] if isinstance(found, Unknown) else found
        unread += [f"whom the resource policy of {name} lets in ({found.reason})"] if isinstance(found, Unknown) else []
    return Surroundings(uses=tuple(uses), principals=_principals(api), unread=tuple(unread))


def _listed(api: Api, call: Call, **parameters: Any) -> list[Json] | Unknown:
    try:
        return [item for page in api.pages(call, **parameters) for item in page[call.member]]
    except CallError as failure:
        return Unknown(failure.reason)


def _functions(functions: list[Json], tables: Mapping[str, str]) -> Iterator[Use]:
    for function in functions:
        for mention in mentions.in_functions([function], tables):
            if _meant(mention.table, mention.place, tables):
                yield Use(table=mention.table, arn=str(function.get("Role")), how=mention.where)


def _streams(sources: list[Json], tables: Mapping[str, str], roles: Mapping[str, str]) -> Iterator[Use]:
    for mapping in sources:
        for mention in mentions.in_event_sources([mapping]):
            if _meant(mention.table, mention.place, tables):
                function = str(mapping.get("FunctionArn", ""))
                role = roles.get(function.rpartition(":function:")[2].partition(":")[0], function)
                yield Use(table=mention.table, arn=role, how=mention.where)


def _shared(api: Api, name: str, arn: str) -> list[Use] | Unknown:
    """Whom a table's resource policy lets in."""
    try:
        policy = bounded.tree(api.call(calls.RESOURCE_POLICY, ResourceArn=arn)["Policy"])
    except CallError as failure:
        return [] if failure.code == "PolicyNotFoundException" else Unknown(failure.reason)
    except (TypeError, ValueError):
        return Unknown("it cannot be understood")
    allowed = {who: None for s in statements(policy) if s.get("Effect") == "Allow" for who in principals_of(s)}
    account = arn.split(":")[4]
    # For the account as a whole its IAM decides, which is read apart.
    others = [who for who in allowed if who != account and not who.endswith(f":{account}:root")]
    return [Use(table=name, arn=who, how="the table's resource policy") for who in others]


def _meant(name: str, place: tuple[str, str] | None, tables: Mapping[str, str]) -> bool:
    """Whether a mention is of one of the tables, and not of its namesake elsewhere."""
    if name not in tables:
        return False
    _, _, _, region, account, _ = tables[name].split(":", 5)
    return place in (None, (account, region))


def _roles(functions: list[Json]) -> dict[str, str]:
    return {str(f["FunctionName"]): str(f.get("Role")) for f in functions}


def _closed(function: Json) -> bool:
    """Variables whose key Lambda may not use come as an error inside a good answer."""
    return bool(function.get("Environment", {}).get("Error"))


# Roles and users


def _principals(api: Api) -> dict[str, Principal] | Unknown:
    try:
        pages = list(api.pages(calls.POLICIES, Filter=KINDS, MaxItems=1000))
    except CallError as failure:
        return Unknown(f"IAM could not be read: {failure.reason}")
    managed = {str(p["Arn"]): p for page in pages for p in page.get("Policies", ())}
    groups = {str(g["GroupName"]): g for page in pages for g in page.get("GroupDetailList", ())}
    found = [_principal(r, "Role", [], managed) for page in pages for r in page.get("RoleDetailList", ())]
    for user in (u for page in pages for u in page.get("UserDetailList", ())):
        member_of = [groups[g] for g in user.get("GroupList", ()) if g in groups]
        found.append(_principal(user, "User", member_of, managed))
    return {p.arn: p for p in found}


def _principal(owner: Json, kind: str, groups: list[Json], managed: Mapping[str, Json]) -> Principal:
    inline = [*owner.get(f"{kind}PolicyList", ()), *(p for g in groups for p in g.get("GroupPolicyList", ()))]
    attached = [str(p["PolicyArn"]) for o in (owner, *groups) for p in o.get("AttachedManagedPolicies", ())]
    fence = owner.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn")
    texts = {arn: _text(managed.get(arn, {})) for arn in (*attached, *([fence] if fence else []))}
    closed = [arn for arn, text in texts.items() if text is None]
    return Principal(
        arn=str(owner["Arn"]),
        statements=tuple(
            s
            for document in (*(p["PolicyDocument"] for p in inline), *(texts[a] for a in attached))
            for s in statements(document)
        ),
        boundary=statements(texts[fence]) if fence else None,
        unread=Unknown(f"its policy {closed[0].rpartition('/')[2]} could not be read") if closed else None,
    )


def _text(policy: Json) -> Any:
    return next((v["Document"] for v in policy.get("PolicyVersionList", ()) if v.get("IsDefaultVersion")), None)
