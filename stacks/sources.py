"""What several stacks' sources say, or leave out, in the same way."""

from holdfast import Assumed, Fact, Inferred
from holdfast.model.provenance import Said, Source
from stacks.environments import PROD, TEST


def lines(first: int, last: int) -> tuple[int, ...]:
    """The lines of a passage, both ends included."""
    return tuple(range(first, last + 1))


ACCOUNT = Assumed(Fact.ACCOUNT, "no source names an account: that of the credentials is deployed to")
UNTYPED = Assumed(
    Fact.KEY_TYPES, "the source names key attributes and gives no types; String is what DynamoDB keys mostly are"
)
PROJECTION = Assumed(Fact.PROJECTION, "the source gives no projection; ALL is what CDK makes unless told otherwise")
COUNTED = "the source counts this table's indexes and names none"
NAMED = Assumed(Fact.INDEX_KEY, "the source gives the index by name only; its key is what stands before -index")

# callytics-dynamodb.md, of which seven stacks are made

CALLYTICS = "callytics-dynamodb.md"
OF_CALLYTICS: dict[Said, Source] = {
    Fact.SYSTEM: Inferred("its repositories and packages are called callytics", 26, 201),
    (Fact.ENVIRONMENT, PROD): 15,
    (Fact.ENVIRONMENT, TEST): 127,
    (Fact.REGION, PROD): 15,
    (Fact.REGION, TEST): 127,
    Fact.ENCRYPTION: Inferred("the one customer-managed key that it names is not theirs", 345),
    Fact.IDENTITY: (191, 193, 194, 195, 196, 201),
    Fact.WALL: lines(166, 178),
    Fact.BILLING: (17, 344),
    Fact.LIFETIME: Inferred("three tables expire their items, and this is none of them", 347),
    Fact.GOVERNANCE: 17,
    (Fact.USAGE, TEST): Inferred("the tables of test are a mirror of those of prod", 129),
}
_ACCOUNT_NUMBER = Assumed(
    Fact.KEY_TYPES,
    "the source calls this account id numeric and gives no type of the attribute; String, as all other keys",
)
CALLYTICS_TYPES: dict[str, Inferred | Assumed] = {
    "storeId": Inferred("a UUID is a String", 194),
    "phoneNumber": Inferred("a number in E.164 begins with + and is a String", 110, 170),
    "phone": Inferred("a number in E.164 begins with + and is a String", 110),
    "fromPhoneNumber": Inferred("a number in E.164 begins with + and is a String", 110, 170),
    "toPhoneNumber": Inferred("a number in E.164 begins with + and is a String", 110, 170),
    "sk": Inferred("SCHEDULE# and a date is a String", 96),
    "franchise": Inferred("the name of a brand is a String", 197),
    "client_id": Inferred("a brand and an account id with a hyphen is a String", 196),
    "leadEmail": Inferred("an e-mail address is a String", 108),
    "emailFrom": Inferred("an e-mail address is a String", 109),
    "callDirection": Inferred("inbound and outbound are words", 49),
    "siteId": _ACCOUNT_NUMBER,
    "providerAccountId": _ACCOUNT_NUMBER,
    "accountId": _ACCOUNT_NUMBER,
}
