"""Authentication and authorization: principals, SASL, credentials, ACLs. Pure: no socket, clock or randomness."""
