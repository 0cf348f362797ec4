"""Every stack of the estate. Explicit on purpose: no discovery, no import side effects."""

from holdfast import Estate
from stacks import (
    acs,
    call_analytics,
    connection_service,
    lead_tracking,
    legacy_tables,
    lifecycle,
    meeting,
    message_system,
    miyabi,
    orange_theory,
    rc_subscription,
)
from stacks.environments import PROD, TEST

ESTATE = Estate(
    name="platform",
    environments=(PROD, TEST),
    stacks=(
        call_analytics.STACK,
        message_system.STACK,
        orange_theory.STACK,
        rc_subscription.STACK,
        lead_tracking.STACK,
        connection_service.STACK,
        legacy_tables.STACK,
        acs.STACK,
        miyabi.STACK,
        lifecycle.STACK,
        meeting.STACK,
    ),
)
