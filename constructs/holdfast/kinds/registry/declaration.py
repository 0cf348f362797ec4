"""Where services find each other and their configuration, as facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from holdfast.model.declaration import DeclarationError, checked
from holdfast.model.facts import Durable, Guard
from holdfast.model.store import Store, check_unique, segment

HOST_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
MAX_INSTANCE = 64  # characters, in Cloud Map


SETTINGS = ("host", "port", "grpc_port")  # of every service, in Parameter Store


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service of the registry, and where it listens."""

    name: str
    port: int
    grpc_port: int

    def __post_init__(self) -> None:
        if not HOST_NAME.fullmatch(self.name):
            raise DeclarationError(f"service {self.name!r}: its name is also its host name: a-z, 0-9 and '-' only")
        for port in (self.port, self.grpc_port):
            if not 0 < port < 65536:
                raise DeclarationError(f"service {self.name}: {port} is not a port (1 to 65535)")


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Registry(Store):
    """Where services find each other and their configuration: Cloud Map and Parameter Store."""

    kind: ClassVar[str] = "registry"
    networked: ClassVar[bool] = False
    offers: ClassVar[Guard] = Guard.TAGS
    root: str  # the first word of every path, and of the domain
    services: tuple[Service, ...]
    lifetime: Durable = field(default=Durable(), init=False)
    assumed: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        self.check_name()
        check_unique("services", f"registry {self.name}", (s.name for s in self.services))
        if not HOST_NAME.fullmatch(self.root):
            raise DeclarationError(f"registry {self.name}: root {self.root!r} is also a domain: a-z, 0-9 and '-' only")

    @property
    def domain(self) -> str:
        """The private domain in which the services have their names."""
        return f"{self.root}.internal"

    def identifier(self, name: str, region: str, account: str = "") -> str:
        return self.domain

    def host(self, service: str) -> str:
        return f"{self._known(service)}.{self.domain}"

    def parameter(self, service: str, setting: str) -> str:
        """The name of the parameter that holds one setting of a service."""
        if setting not in SETTINGS:
            raise ValueError(f"{setting!r} is not a setting of a service: {', '.join(SETTINGS)}")
        return f"/{self.root}/config/services/{self._known(service)}/{setting}"

    def parameters(self, service: Service) -> dict[str, str]:
        """The configuration of one service, by parameter name."""
        values = (self.host(service.name), str(service.port), str(service.grpc_port))
        return {self.parameter(service.name, s): value for s, value in zip(SETTINGS, values, strict=True)}

    def instance(self, service: str, number: str) -> str:
        """Where one running instance of a service stands; its last part is the instance's id in Cloud Map."""
        path, name = f"/{self.root}/services/{self._known(service)}", f"instance_{number}"
        if not number or len(name) > MAX_INSTANCE:
            raise ValueError(f"{number!r} cannot stand in {path}: Cloud Map takes {MAX_INSTANCE} characters in all")
        return f"{path}/{segment(name, path)}"

    def _known(self, service: str) -> str:
        if service not in {s.name for s in self.services}:
            raise ValueError(f"{service!r} is not a service of {self.root}: {', '.join(s.name for s in self.services)}")
        return service

    def facts(self, topic_prefix: str | None = None) -> Iterator[tuple[str, str]]:
        return ((s.name, f"port {s.port}, gRPC {s.grpc_port}") for s in self.services)

    def assumptions(self) -> Iterator[tuple[str, str, str]]:
        return ((what, "as declared", why) for what, why in self.assumed.items())
