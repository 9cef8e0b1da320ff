"""Entity types of DescribeClientQuotas and AlterClientQuotas."""

USER, CLIENT_ID, IP = "user", "client-id", "ip"
