"""What the values of attributes identify, by system: two names can mean one thing, and two like ids two things."""

_NAMES = {
    "RingCentral account": "siteId account_id accountId providerAccountId",  # a number, never a store
    "store": "storeId",  # a UUID
    "user": "userId childUserId parentUserId",
    "organization": "orgId",
    "client": "clientId client_id",  # <franchise>-<RingCentral account>
    "connection": "connectionId",
    "phone number": "phoneNumber fromPhoneNumber toPhoneNumber",
    "call": "telephonySessionId",
}

CALLYTICS = {attribute: identity for identity, names in _NAMES.items() for attribute in names.split()}
