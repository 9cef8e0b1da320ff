"""A Kafka client's side of a connection: versions, TLS, logins, questions and answers. It opens no socket."""
