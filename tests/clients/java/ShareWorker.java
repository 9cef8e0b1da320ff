import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.StringJoiner;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;

/**
 * A share consumer as tests/clients/sharing.py talks to it: bootstrap, topic, group, name and mode as arguments; reports
 * on stdout; on stdin how each record of a poll is acknowledged, and "stop".
 */
public final class ShareWorker {
    private static final PrintStream REPORTS = System.out;

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        boolean explicit = arguments[4].equals("explicit");
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", arguments[2]);
        settings.put("client.id", arguments[3]);
        settings.put("share.acknowledgement.mode", arguments[4]);
        settings.put("fetch.max.wait.ms", "100");
        settings.put("max.poll.records", arguments[5]);
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(settings);
        consumer.subscribe(List.of(topic));
        boolean stopping = false;
        boolean idle = true;
        while (!stopping) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
            Map<String, ConsumerRecord<byte[], byte[]>> open = new HashMap<>();
            StringJoiner got = new StringJoiner(", ", "[\"Got\", [", "]]");
            for (ConsumerRecord<byte[], byte[]> record : records) {
                short count = record.deliveryCount().orElse((short) 0);
                got.add("[" + record.partition() + ", " + record.offset() + ", " + count + "]");
                open.put(record.partition() + "," + record.offset(), record);
            }
            if (!open.isEmpty()) {
                report(got.toString());
            } else if (!idle) {
                report("[\"Idle\"]");
            }
            idle = open.isEmpty();
            while (explicit && !open.isEmpty() && !stopping) {
                String order = orders.readLine();
                stopping = order == null || order.equals("stop");
                if (!stopping) {
                    acknowledge(consumer, open, order);
                }
            }
            while (!stopping && orders.ready()) {
                stopping = "stop".equals(orders.readLine());
            }
        }
        consumer.close();
        report("[\"Closed\"]");
    }

    /** A record whose lock was renewed is to be polled once more, and is the same one (KIP-1222). */
    private static void acknowledge(
            KafkaShareConsumer<byte[], byte[]> consumer, Map<String, ConsumerRecord<byte[], byte[]>> open, String order) {
        Set<String> renewed = new HashSet<>();
        for (String each : order.split(" ")) {
            int at = each.lastIndexOf(',');
            AcknowledgeType type = AcknowledgeType.valueOf(each.substring(at + 1).toUpperCase(Locale.ROOT));
            String place = each.substring(0, at);
            consumer.acknowledge(open.remove(place), type);
            if (type == AcknowledgeType.RENEW) {
                renewed.add(place);
            }
        }
        String problem = "";
        for (Map.Entry<TopicIdPartition, Optional<KafkaException>> each : consumer.commitSync().entrySet()) {
            problem = each.getValue().map(failure -> failure.getClass().getSimpleName()).orElse(problem);
        }
        while (!renewed.isEmpty()) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                String place = record.partition() + "," + record.offset();
                renewed.remove(place);
                open.put(place, record);
            }
        }
        report("[\"Acknowledged\", \"" + problem + "\"]");
    }

    private static synchronized void report(String line) {
        REPORTS.println(line);
        REPORTS.flush();
    }
}
