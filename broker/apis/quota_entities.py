"""What may have a quota: what DescribeClientQuotas and AlterClientQuotas have in common."""

USER, CLIENT_ID, IP = "user", "client-id", "ip"
