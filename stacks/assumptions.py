"""Assumptions that several stacks share: what their sources leave out in the same way."""

from holdfast import Assumed, Fact

UNTYPED = Assumed(
    Fact.KEY_TYPES, "the source names key attributes and gives no types; String is what DynamoDB keys mostly are"
)
PROJECTION = Assumed(Fact.PROJECTION, "the source gives no projection; ALL is what CDK makes unless told otherwise")
COUNTED = "the source counts this table's indexes and names none"
NAMED = Assumed(Fact.INDEX_KEY, "the source gives the index by name only; its key is what stands before -index")
