"""Topics for measurements that need them."""

from kohort.protocol.messages.create_topics import MESSAGE, CreatableTopic, CreateTopicsRequest
from tests.bench import replies
from tests.bench.connection import Connection
from tests.bench.failures import UnmeasurableError, error_name
from tests.bench.requests import by_kio

VERSION = 7


async def create_topic(client: Connection, name: str, partitions: int) -> None:
    """Creates a topic. Raises UnmeasurableError when the server does not."""
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=(), configs=())
    payload = await client.call(by_kio(MESSAGE, VERSION, CreateTopicsRequest(topics=(topic,))))
    code = replies.reader(MESSAGE.api.key, VERSION)(payload).topics[0].error_code
    if code:
        raise UnmeasurableError(f"CreateTopics answered {error_name(code)}")
