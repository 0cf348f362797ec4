"""A shop with one table: the least that an estate can say."""

from holdfast import Data, Durable, Environment, Estate, Stack, Table, Tier, key

ESTATE = Estate(
    name="corner-shop",
    environments=(Environment("live", Tier.PROD, "eu-north-1"),),
    stacks=(
        Stack(
            id="Shop-{env}",
            system="shop",
            owner="everybody",
            tables=(
                Table(
                    name="orders-{env}",
                    purpose="What was ordered.",
                    key=key("orderId"),
                    lifetime=Durable(),
                    data=Data.PERSONAL,
                ),
            ),
        ),
    ),
)
