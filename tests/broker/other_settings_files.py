"""Files of settings in other formats than Kafka's properties, or for other programs, and a word of the explanation."""

from __future__ import annotations

LOGIN = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="ada" password="secret";'

OTHER_FORMATS = {
    "jaas": (f"KafkaClient {{\n  {LOGIN}\n}};\n", "JAAS file"),
    "jaas-one-line": (f"# login\nKafkaClient {{ {LOGIN} }};\n", "JAAS file"),
    "jaas-value-alone": (f"{LOGIN}\n", "JAAS file"),
    "json": ('{\n  "security.protocol": "SASL_SSL"\n}\n', "JSON"),
    "json-list": ('[\n  {"name": "security.protocol"}\n]\n', "JSON"),
    "yaml": ("spring:\n  kafka:\n    bootstrap-servers: 127.0.0.1:9092\n", "YAML"),
    "yaml-document": ("---\nsecurity.protocol: SASL_SSL\n", "YAML"),
    "yaml-with-comments": ("kafka: # the cluster\n\n  # TLS\n  security.protocol: SSL\n", "YAML"),
    "compose": ("environment:\n- KAFKA_NODE_ID=1\n- KAFKA_NUM_PARTITIONS=3\n", "YAML"),
    "toml": ('[kafka]\nbootstrap = "127.0.0.1:9092"\n', "TOML"),
    "ini": ("[default]\nbootstrap.servers=127.0.0.1:9092\nsecurity.protocol=SASL_SSL\n", "TOML and INI"),
    "xml": ("<?xml version='1.0'?>\n<properties/>\n", "XML"),
    "hocon": ("akka.kafka.consumer {\n  kafka-clients.security.protocol = SSL\n}\n", "blocks in braces"),
    "pem": ("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "ssl.truststore.location"),
}
CLIENT = {
    "image": (
        "KAFKA_SECURITY_PROTOCOL=SSL\nKAFKA_SASL_MECHANISM=PLAIN\n",
        "KAFKA_SECURITY_PROTOCOL is security.protocol",
    ),
    "shell": ("export BOOTSTRAP_SERVERS=127.0.0.1:9092\nexport SECURITY_PROTOCOL=SSL\n", "environment variables"),
    "spring": (
        "spring.kafka.bootstrap-servers=127.0.0.1:9092\nspring.kafka.properties.sasl.mechanism=PLAIN\n"
        f"spring.kafka.properties.sasl.jaas.config={LOGIN}\nspring.kafka.security.protocol=SASL_SSL\n",
        "none of its names is a client setting; remove the prefix spring.kafka.properties.",
    ),
    "spring-consumer": (
        "spring.kafka.consumer.properties.security.protocol=SSL\n",
        "remove the prefix spring.kafka.consumer.properties.",
    ),
    "mirror-maker": (
        "clusters = source, target\nsource.bootstrap.servers = a:9092\nsource.security.protocol = SSL\n"
        "target.bootstrap.servers = b:9092\nsource->target.enabled = true\nreplication.factor=1\n"
        "offset.storage.replication.factor=1\nconfig.storage.replication.factor=1\n",
        "remove the prefix source.",
    ),
    "mirror-connector": (
        "source.cluster.alias=a\nsource.cluster.bootstrap.servers=a:9092\nsource.cluster.sasl.mechanism=PLAIN\n",
        "remove the prefix source.cluster.",
    ),
    "connect": (
        "bootstrap.servers=a:9092\ngroup.id=connect\nconsumer.security.protocol=SSL\nproducer.security.protocol=SSL\n",
        "its security settings have a prefix; remove ",
    ),
    "connector": ("consumer.override.sasl.jaas.config=x\n", "remove the prefix consumer.override."),
    "quarkus": ("kafka.bootstrap.servers=a:9092\nkafka.security.protocol=SSL\n", "remove the prefix kafka."),
    "broker": ("listeners=PLAINTEXT://:9092\nlog.dirs=/tmp\nssl.keystore.type=PEM\n", "it is for a broker"),
    "others": ("logging.level.root=info\nmanagement.port=1\n", "logging.level.root, management.port"),
    "quoted": ('security.protocol="SSL"\n', "security.protocol: remove the quotes"),
    "quoted-login": ("sasl.username='ada'\nsasl.password='secret'\n", "sasl.username: remove the quotes"),
}
BROKER = {
    "shell": ("export KAFKA_NUM_PARTITIONS=3\n", "environment variables"),
    "prefix": ("kafka.num.partitions=3\nkafka.log.dirs=/tmp\n", "remove the prefix kafka."),
    "spring": ("spring.embedded.kafka.num.partitions=3\n", "remove the prefix spring.embedded.kafka."),
    "client": ("bootstrap.servers=a:9092\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n", "it is for a client"),
    "others": ("server.port=8080\n", "none of its names is a broker setting: server.port"),
    "quoted-number": ('num.partitions="3"\n', "num.partitions"),
    "quoted-listeners": ('listeners="PLAINTEXT://127.0.0.1:0"\n', "listeners"),
}
ACCEPTED_FOR_CLIENTS = {
    "empty": "",
    "comments": "# nothing\n! at all\n",
    "mark": "\ufeffsecurity.protocol=PLAINTEXT\n",
    "consumer": "max.poll.records=10\n",
    "producer": "acks=all\nlinger.ms=5\n",
    "librdkafka": "metadata.broker.list=a:9092\nqueued.min.messages=1\n",
    "connect": "bootstrap.servers=a:9092\nkey.converter=x\nlisteners=HTTP://:8083\nproducer.acks=all\n",
    "flat-yaml": "security.protocol: PLAINTEXT\nclient.id: me\n",
    "registry": "bootstrap.servers=a:9092\nschema.registry.url=https://x\nbasic.auth.credentials.source=USER_INFO\n",
    "interceptor": "security.protocol=PLAINTEXT\nconfluent.monitoring.interceptor.security.protocol=SSL\n",
    "continued": "bootstrap.servers=a:9092,\\\n  - b:9092\nclient.id=\\\n  me {\n",
}
ACCEPTED_FOR_BROKERS = {
    "empty": "",
    "kafkas-only": "num.network.threads=3\n",
    "older": "zookeeper.connect=localhost:2181\n",
    "login": "listener.name.internal.scram-sha-256.sasl.jaas.config=x\n",
    "with-others": "num.partitions=3\nKAFKA_OPTS=x\nbootstrap.servers=a:9092\n",
}
