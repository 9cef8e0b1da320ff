"""The client side of a Kafka connection: versions, TLS, SASL, requests and responses. It opens no socket."""
