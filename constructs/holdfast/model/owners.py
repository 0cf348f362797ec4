"""Who owns stacks, and where they are told of their alarms."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.model.declaration import DeclarationError, checked
from holdfast.model.facts import unknown_placeholders

# How SNS reaches an address. A chat is none of them: a configuration of Amazon Q names the topics that it listens to.
PROTOCOLS = {
    "https": re.compile(r"https://\S+"),
    "email": re.compile(r"mailto:[^\s@]+@[^\s@]+"),
    "sqs": re.compile(r"arn:aws[a-z-]*:sqs:\S+"),
    "lambda": re.compile(r"arn:aws[a-z-]*:lambda:\S+:function:\S+"),
}


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A team, and where it is told of the alarms of its stacks.

    ``Owner(name="shop-team", tell=("https://events.example.com/shop", "mailto:shop@example.com"))``. The ARN of a queue
    or a function may hold {region}, {account} and {env}; its own policy has to let SNS in.
    """

    name: str
    tell: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for address in self.tell:
            if wrong := unknown_placeholders(address):
                raise DeclarationError(f"owner {self.name}: {address}: {wrong}")
            subscription(address)
        if len(set(self.tell)) < len(self.tell):
            raise DeclarationError(f"owner {self.name}: tell= names an address twice")


def subscription(address: str) -> tuple[str, str]:
    """The protocol and the endpoint by which SNS tells an address."""
    for protocol, form in PROTOCOLS.items():
        if form.fullmatch(address):
            return protocol, address.removeprefix("mailto:")
    raise DeclarationError(
        f"{address!r} is not an address that can be told: use https://…, mailto:…, or the ARN of a queue or a function"
    )
