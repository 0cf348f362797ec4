"""Why a call to AWS gave nothing, in words; and whether to try again."""

from __future__ import annotations

import re
from enum import Enum

from holdfast.shared.calls import Call

THROTTLED = frozenset(
    {
        "BandwidthLimitExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
DENIED = frozenset(
    {"AccessDenied", "AccessDeniedException", "AuthorizationError", "ForbiddenException", "UnauthorizedOperation"}
)
EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
REFUSED = frozenset(
    {
        "AuthFailure",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "NotAuthorized",
        "OptInRequired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
GONE = frozenset({"NotFoundException", "ResourceNotFoundException", "TableNotFoundException"})
LIMITED = frozenset({"LimitExceeded", "LimitExceededException"})  # of how many there may be, never of how fast
TRANSIENT = frozenset(
    {"InternalError", "InternalFailure", "InternalServerError", "RequestTimeout", "ServiceUnavailable"}
)
NOT_AUTHORIZED = re.compile(r"not authorized to perform: ([a-z0-9-]+:[A-Za-z0-9]+)")


class Kind(Enum):
    """What a failed call means for its caller."""

    THROTTLED = "throttled"  # try again, more slowly
    TRANSIENT = "transient"  # try again
    UNREACHABLE = "unreachable"  # try again, but not for long
    GARBLED = "garbled"  # something else than the service answers: try again, but not for long
    SILENT = "silent"  # no answer in time: try again once
    DENIED = "denied"
    CREDENTIALS = "credentials"  # none, expired, or not accepted
    GONE = "gone"
    OTHER = "other"


class CallError(Exception):
    """A call that gave nothing. ``reason`` is one sentence for people."""

    def __init__(self, call: Call, kind: Kind, reason: str, code: str = "", missing: str | None = None) -> None:
        super().__init__(reason)
        self.call, self.kind, self.reason, self.code, self._missing = call, kind, reason, code, missing

    @property
    def action(self) -> str | None:
        """The IAM action that is missing, if that is why."""
        return self._missing or self.call.action if self.kind is Kind.DENIED else None


def answered(call: Call, status: int, code: str, message: str) -> CallError:
    """The failure that an answer of AWS stands for."""
    said = f"{code}: {message}".strip(": ") or f"status {status}"
    if code in THROTTLED or status == 429:
        return CallError(call, Kind.THROTTLED, f"{call.operation} was throttled, again and again", code)
    if code in DENIED:
        # One call may take the right to several actions; AWS says which, if it is another one.
        missing = found[1] if (found := NOT_AUTHORIZED.search(message)) else call.action
        return CallError(call, Kind.DENIED, f"not allowed: {missing or call.operation} is missing", code, missing)
    if code in EXPIRED:
        return CallError(call, Kind.CREDENTIALS, "the credentials have expired", code)
    if code in REFUSED:
        return CallError(call, Kind.CREDENTIALS, f"AWS does not accept the credentials ({code})", code)
    if code in GONE:
        return CallError(call, Kind.GONE, f"{call.operation}: it does not exist ({code})", code)
    if code in LIMITED:
        return CallError(call, Kind.OTHER, f"{call.operation}: a limit of AWS is reached ({said})", code)
    if status >= 500 or code in TRANSIENT:
        return CallError(call, Kind.TRANSIENT, f"{call.operation} failed again and again ({said})", code)
    return CallError(call, Kind.OTHER, f"{call.operation} failed ({said})", code)
