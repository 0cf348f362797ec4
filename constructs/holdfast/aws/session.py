"""The one way to AWS: calls that are declared, with retries, at the pace that AWS allows."""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import botocore.session
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    ProfileNotFound,
    ProxyConnectionError,
    ReadTimeoutError,
)
from botocore.handlers import json_decode_template_body
from botocore.parsers import ResponseParserError

from holdfast.aws.answers import OddTextError, Strict, gate
from holdfast.aws.calls import IDENTITY
from holdfast.aws.failure import CallError, Kind, answered
from holdfast.aws.options import Keys, Options
from holdfast.aws.pace import ATTEMPTS, STOP, Pace, pause
from holdfast.aws.wire import Wire
from holdfast.errors import InputError
from holdfast.model.regions import partition
from holdfast.shared.calls import Call
from holdfast.threads import Pool

CONNECTIONS = 64
UNREACHABLE_ATTEMPTS = 3
SILENT_ATTEMPTS = 2
SILENT = 3  # calls of one operation in a row that were not answered: the next would wait in vain, too
MUTE = 4  # operations that were not answered since any was: then nothing is
FIRST_SECONDS = 5  # for an answer to who we are; an endpoint that gives none is the wrong one
ANSWER_SECONDS = 20  # between two parts of an answer
CALL_SECONDS = 60  # for an answer as a whole, and for all attempts at a call
AUDIT_MINUTES = 30  # at ten DescribeContinuousBackups a second, which AWS allows, 18,000 tables
DOWN = 20  # so many failures to connect in a row mean that the service is gone
ASSUME_ROLE = Call(service="sts", operation="AssumeRole", action="sts:AssumeRole", reads="credentials of the role")
HINT = "set AWS_PROFILE, give --profile, or log in (`aws sso login`)"


class Api:
    """One account and region. Only the calls that it was made with can be made."""

    def __init__(
        self,
        session: Any,
        *,
        region: str,
        endpoint_url: str | None,
        calls: Iterable[Call],
        label: str = "",
        accounts: Collection[str] = (),
        until: float | None = None,
    ) -> None:
        self.region, self.label = region, label
        self._until = until
        self.partition = "aws"  # or aws-cn, aws-us-gov: known once we know who we are
        self.arn = ""  # of the caller, from then on
        self._session, self._endpoint = session, endpoint_url
        # botocore would parse templates without bounds, and keep the last of two keys of a name.
        session.unregister("after-call.cloudformation.GetTemplate", json_decode_template_body)
        session.register_component("response_parser_factory", Strict())
        self._calls = frozenset(calls)
        self._accounts = accounts
        self._clients: dict[str, Any] = {}
        self._paces: dict[Call, Pace] = {call: Pace() for call in self._calls}
        self._gates: dict[Call, Callable[[dict[str, Any]], dict[str, Any]]] = {}
        self._silent: dict[Call, int] = {}
        self._mute: set[Call] = set()
        self._asking = Pool(CONNECTIONS)
        weakref.finalize(self, self._asking.close)
        self._lock = threading.Lock()
        self._wire: Wire | None = None
        self._failed_to_connect = 0

    def call(self, call: Call, **parameters: Any) -> dict[str, Any]:
        """The answer, or CallError."""
        if call not in self._calls:
            raise ValueError(f"{call.operation} is not declared: add it to the calls of the command, with its action")
        pace, attempt, began = self._paces[call], 0, 0.0
        while True:
            sent = pace.wait()
            began = began or sent
            self._still(call)
            try:
                answer = self._send(call, parameters)
            except CallError as failure:
                attempt += 1
                if attempt >= self._patience(failure) or time.monotonic() - began > CALL_SECONDS:
                    raise
                if failure.kind is Kind.THROTTLED:
                    pace.slower(sent)
                pause(attempt)
            else:
                self._failed_to_connect = self._silent[call] = 0
                self._mute.clear()
                pace.faster()
                return answer

    def pages(self, call: Call, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Every page of a listing."""
        assert call.page
        asked, answered_with = call.page
        seen: set[str] = set()
        while True:
            page = self.call(call, **parameters)
            yield page
            token = page.get(answered_with)
            if not token:
                if page.get("IsTruncated"):
                    raise CallError(call, Kind.OTHER, f"{call.operation} has more to tell, and does not say where")
                return
            if token in seen:
                raise CallError(call, Kind.OTHER, f"{call.operation} gives the same page again and again")
            seen.add(token)
            parameters[asked] = token

    def identity(self) -> str:
        """The account's id; the first call, and the one that tells whether there is any use in others."""
        try:
            answer = self.call(IDENTITY)
            self.arn = str(answer.get("Arn", ""))
            named = re.match(r"arn:(aws[a-z-]*):", self.arn)
            self.partition = named[1] if named else partition(self.region)
        except CallError as failure:
            raise InputError(self._hopeless(failure)) from None
        found = str(answer["Account"])
        if not re.fullmatch(r"[0-9]{12}", found):
            raise InputError(f"the endpoint answers that this is account {found!r}, which no account is called")
        if self._accounts and found not in self._accounts:
            wanted = " or ".join(self._accounts)
            raise InputError(f"the credentials are of account {found}; declared or asked for is {wanted}: log in there")
        return found

    def _hopeless(self, failure: CallError) -> str:
        whose = f"{self.label}: " if self.label else ""
        match failure.kind:
            case Kind.CREDENTIALS:
                return f"{whose}{failure.reason}: {HINT}"
            case Kind.UNREACHABLE:
                return f"{whose}{failure.reason}: is {self.region} the right region, and is there a network?"
            case _:
                return f"{whose}AWS cannot be asked who we are ({failure.reason})"

    def _patience(self, failure: CallError) -> int:
        match failure.kind:
            case Kind.TRANSIENT if failure.call.service == "sts":
                return UNREACHABLE_ATTEMPTS
            case Kind.THROTTLED | Kind.TRANSIENT:
                return ATTEMPTS
            case Kind.GARBLED:
                return UNREACHABLE_ATTEMPTS
            case Kind.SILENT:
                self._silent[failure.call] = self._silent.get(failure.call, 0) + 1
                self._mute.add(failure.call)
                return SILENT_ATTEMPTS
            case Kind.UNREACHABLE:
                self._failed_to_connect += 1
                return 0 if self._failed_to_connect > DOWN else UNREACHABLE_ATTEMPTS
            case _:
                return 0

    def _send(self, call: Call, parameters: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = self._asking.submit(self._answer, call, parameters).result(CALL_SECONDS)
            return self._gate(call)(answer)
        except TimeoutError:  # it comes byte by byte, or the thread would have given up itself
            raise CallError(call, Kind.SILENT, f"{call.operation} took more than {CALL_SECONDS} s") from None
        except ClientError as error:
            found = error.response.get("Error", {})
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
            raise answered(call, status, str(found.get("Code", "")), str(found.get("Message", ""))) from None
        except (EndpointConnectionError, ConnectTimeoutError, ProxyConnectionError) as error:
            raise CallError(call, Kind.UNREACHABLE, _line(error)) from None
        except ReadTimeoutError as error:
            said = f"{call.operation} was not answered in time ({_line(error)})"
            raise CallError(call, Kind.SILENT, said) from None
        except HTTPClientError as error:
            raise CallError(call, Kind.TRANSIENT, f"the connection broke ({_line(error)})") from None
        except BotoCoreError as error:
            raise CallError(call, Kind.OTHER, f"{call.operation} failed ({_line(error)})") from None
        except OddTextError as error:
            raise CallError(call, Kind.GARBLED, f"{call.operation} was answered oddly: {error}") from None
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            RecursionError,
            ResponseParserError,
        ) as error:  # whatever botocore's parsers stumble over
            if isinstance(error, InputError):
                raise
            said = f"{call.operation} answered something that cannot be understood ({type(error).__name__})"
            raise CallError(call, Kind.GARBLED, said) from None

    def _answer(self, call: Call, parameters: dict[str, Any]) -> dict[str, Any]:
        self._credentials(call)
        if call.service == "dynamodb":
            return self._dynamodb().send(call, parameters)
        method: Callable[..., dict[str, Any]] = getattr(self._client(call.service), xform_name(call.operation))
        return method(**parameters)

    def _still(self, call: Call) -> None:
        """CallError where there is no use in asking."""
        if STOP.is_set():
            raise CallError(call, Kind.OTHER, "interrupted")
        if self._until is not None and time.monotonic() > self._until:
            said = f"the {AUDIT_MINUTES} minutes that an audit may take are over: read fewer accounts at once"
            raise CallError(call, Kind.OTHER, said)
        if self._silent.get(call, 0) >= SILENT:
            raise CallError(call, Kind.OTHER, f"{call.operation} was not answered in time, {SILENT} times in a row")
        if len(self._mute) >= MUTE:
            raise CallError(
                call, Kind.OTHER, f"{MUTE} calls in a row were not answered in time, and so no more were made"
            )

    def _credentials(self, call: Call) -> None:
        """CallError where there are none: whatever fails in getting or renewing them fails here."""
        try:
            found = self._session.get_credentials()
            if found is None:
                raise NoCredentialsError
            found.get_frozen_credentials()
        except Exception as error:
            raise CallError(call, Kind.CREDENTIALS, f"there are no usable credentials ({_line(error)})") from None

    def _gate(self, call: Call) -> Callable[[dict[str, Any]], dict[str, Any]]:
        if call not in self._gates:
            self._gates[call] = gate(call, self._client(call.service).meta.service_model)
        return self._gates[call]

    def _client(self, service: str) -> Any:
        with self._lock:  # clients are shared by threads, but not made by several at once
            if service not in self._clients:
                config = Config(
                    max_pool_connections=CONNECTIONS,
                    parameter_validation=False,  # what we send is ours
                    retries={"total_max_attempts": 1},  # ours are by operation, as the limits are
                    connect_timeout=FIRST_SECONDS,
                    read_timeout=FIRST_SECONDS if service == "sts" else ANSWER_SECONDS,
                )
                try:
                    self._clients[service] = self._session.create_client(
                        service, region_name=self.region, endpoint_url=self._endpoint, config=config
                    )
                except (BotoCoreError, ValueError) as error:
                    raise InputError(f"{_line(error)}: check --region and --endpoint-url") from None
            return self._clients[service]

    def _dynamodb(self) -> Wire:
        if self._wire is None:
            client = self._client("dynamodb")
            with self._lock:
                self._wire = self._wire or Wire(
                    url=client.meta.endpoint_url,
                    region=self.region,
                    credentials=self._session.get_credentials(),
                    ca_bundle=self._session.get_config_variable("ca_bundle"),
                )
        return self._wire


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C ends the retries of all threads at once; else it would wait for the last of them."""

    def stop(*_: object) -> None:
        STOP.set()
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = signal.signal(signal.SIGINT, stop)
    STOP.clear()  # it stays set after Ctrl-C: threads may still be about to ask
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def apis(options: Options, calls: Iterable[Call], until: float | None = None) -> Iterator[Api]:
    """One for each profile, or set of keys, and region; ``until`` is when the last call may be made."""
    for known in options.profiles or options.keys or (None,):
        profile = known if isinstance(known, str) else None
        session = botocore.session.Session(profile=profile)
        if isinstance(known, Keys):
            session.set_credentials(known.access_key, known.secret_key, known.token)
        try:
            default = session.get_config_variable("region")
            _without_terminal(session)
        except ProfileNotFound as error:
            others = ", ".join(session.available_profiles) or "none"
            raise InputError(f"{_line(error)}: known are {others}") from None
        except BotoCoreError as error:
            raise InputError(f"the AWS configuration cannot be used ({_line(error)})") from None
        regions = options.regions or ((default,) if default else ())
        if not regions:
            raise InputError("no region: give --region, or set AWS_DEFAULT_REGION")
        if options.role_arn:
            session = _assume(session, options, regions[0], profile)
        for region in regions:
            yield Api(
                session,
                region=region,
                endpoint_url=options.endpoint_url,
                calls=calls,
                label=profile or "",
                accounts=options.accounts,
                until=until,
            )


def _assume(session: Any, options: Options, region: str, profile: str | None) -> Any:
    api = Api(session, region=region, endpoint_url=options.endpoint_url, calls=(ASSUME_ROLE,), label=profile or "")
    try:
        found = api.call(ASSUME_ROLE, RoleArn=options.role_arn, RoleSessionName="holdfast")["Credentials"]
    except CallError as failure:
        if failure.kind in (Kind.CREDENTIALS, Kind.UNREACHABLE):
            raise InputError(api._hopeless(failure)) from None
        raise InputError(f"the role {options.role_arn} cannot be assumed: {failure.reason}") from None
    assumed = botocore.session.Session()
    assumed.set_credentials(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])
    return assumed


def _without_terminal(session: Any) -> None:
    """A code of MFA is asked for on a terminal only: what else comes in is no code."""
    if not sys.stdin or not sys.stdin.isatty():
        session.get_component("credential_provider").get_provider("assume-role")._prompter = _no_code


def _no_code(prompt: str) -> str:
    raise EOFError("a code of MFA is needed, and there is no terminal to ask for it")


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
