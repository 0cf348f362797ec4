"""ConnectionServiceStack-prod: six tables that outlived their stack. Source: callytics-dynamodb.md.

RingCentralOAuthStack-prod was deleted on 2025-12-29 and its tables were retained. Nothing may create them anew:
bringing them into this stack needs an import together with their key.
"""

from datetime import date

from holdfast import Data, Durable, Governance, Sighting, Stack, State, Stream, Table, Usage, View, gsi, key
from stacks.assumptions import COUNTED, PROJECTION, UNTYPED
from stacks.environments import PROD
from stacks.identities import CALLYTICS

AUDIT = date(2026, 4, 23)
CHANGES = Stream(view=View.NEW_AND_OLD_IMAGES)  # on in the live account, and not read

STACK = Stack(
    id="ConnectionServiceStack-{env}",
    system="callytics",
    owner="ringcentralService",
    environments=(PROD,),
    assumed=(UNTYPED, PROJECTION),
    identities=CALLYTICS,
    tables=(
        Table(
            name="ConnectionService-CallAnalysisConfigurations-{env}",
            purpose="Analysis settings of each client, before call-analysis-config; still read.",
            key=key("client_id"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            state=State(
                governance=Governance.ORPHAN,
                replaced_by="call-analytics-{env}-call-analysis-config-{region}",
                archive_phase=2,
                sighting=Sighting(on=AUDIT, reads_7d=450),
            ),
        ),
        Table(
            name="ConnectionService-Organizations-{env}",
            purpose="Organizations, before stores became the boundary of data.",
            key=key("orgId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            stream=CHANGES,
            state=State(
                usage=Usage.LEGACY,
                governance=Governance.ORPHAN,
                replaced_by="orangetheory-StoresV2-{env}",
                archive_phase=3,
            ),
        ),
        Table(
            name="ConnectionService-Connections-{env}",
            purpose="Provider connections of an organization.",
            key=key("orgId", "provider"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("provider", assumed=COUNTED),),
            stream=CHANGES,
            state=State(
                usage=Usage.LEGACY,
                governance=Governance.ORPHAN,
                replaced_by="orangetheory-UserConnections-{env}",
                archive_phase=3,
            ),
        ),
        Table(
            name="ConnectionService-OrgConfigurations-{env}",
            purpose="Settings of an organization; now businessConfig of a store.",
            key=key("orgId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            stream=CHANGES,
            state=State(
                usage=Usage.LEGACY,
                governance=Governance.ORPHAN,
                replaced_by="orangetheory-StoresV2-{env}",
                archive_phase=3,
            ),
        ),
        Table(
            name="ConnectionService-UserOrganizations-{env}",
            purpose="Members of an organization.",
            key=key("userId", "orgId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("orgId", assumed=COUNTED),),
            stream=CHANGES,
            state=State(
                usage=Usage.DEAD,
                governance=Governance.ORPHAN,
                replaced_by="orangetheory-UserStore-{env}",
                archive_phase=1,
                sighting=Sighting(on=AUDIT, items=62, reads_7d=2.5),
            ),
        ),
        Table(
            name="ConnectionService-SubAccountLinks-{env}",
            purpose="Parent and child accounts; a child could have several parents.",
            key=key("parentUserId", "childUserId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("childUserId", assumed=COUNTED),),
            stream=CHANGES,
            state=State(
                usage=Usage.DEAD,
                governance=Governance.ORPHAN,
                replaced_by="orangetheory-SubAccounts-{env}",
                archive_phase=1,
                sighting=Sighting(on=AUDIT, items=13, reads_7d=2),
            ),
        ),
    ),
)
