"""Every stack of the estate. Explicit on purpose: no discovery, no import side effects."""

from holdfast import Estate, Naming, Policy
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
    policy=Policy(
        naming=(
            Naming(
                begins="studio-",
                reason="the brand's own prefix is the old one",
                stacks=(orange_theory.STACK.id,),
                existing=orange_theory.UNDER_THE_OLD_PREFIX,
            ),
        ),
    ),
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
