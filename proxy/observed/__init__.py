"""Groups as observed in the traffic through the proxy: a model without sockets, and its events in the brokers' form."""
