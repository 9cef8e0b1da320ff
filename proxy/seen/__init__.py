"""Groups as the traffic through the proxy shows them: a model without sockets, and its events in the brokers' form."""
