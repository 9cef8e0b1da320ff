"""Topics for measurements that need them."""

from benchmarks import replies
from benchmarks.connection import Connection
from benchmarks.failures import UnmeasurableError, error_name
from benchmarks.requests import by_kio
from kohort.protocol.messages import incremental_alter_configs
from kohort.protocol.messages.create_topics import MESSAGE, CreatableTopic, CreateTopicsRequest
from kohort.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

VERSION = 7
SET = 0  # type of an operation on a setting
TOPIC = 2  # type of a resource


async def create_topic(client: Connection, name: str, partitions: int) -> None:
    """Create a topic.

    Raises:
        UnmeasurableError: The server rejects it.
    """
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=(), configs=())
    payload = await client.call(by_kio(MESSAGE, VERSION, CreateTopicsRequest(topics=(topic,))))
    code = replies.reader(MESSAGE.api.key, VERSION)(payload).topics[0].error_code
    if code:
        raise UnmeasurableError(f"CreateTopics answered {error_name(code)}")


async def configure_topic(client: Connection, topic: str, name: str, value: str) -> None:
    """Set a setting of a topic.

    Raises:
        UnmeasurableError: The server rejects it.
    """
    config = AlterableConfig(name=name, config_operation=SET, value=value)
    resource = AlterConfigsResource(resource_type=TOPIC, resource_name=topic, configs=(config,))
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    message = incremental_alter_configs.MESSAGE
    payload = await client.call(by_kio(message, 1, request))
    code = replies.reader(message.api.key, 1)(payload).responses[0].error_code
    if code:
        raise UnmeasurableError(f"IncrementalAlterConfigs answered {error_name(code)}")
