"""What the construct of a registry sets and the rules demand."""

DNS_SECONDS = 10  # how long a name that is gone is still believed
DNS = {"RoutingPolicy": "MULTIVALUE", "DnsRecords": [{"Type": "A", "TTL": DNS_SECONDS}]}
