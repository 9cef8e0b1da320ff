import java.io.FileInputStream;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A record there and back at a secured cluster, as tests/clients/test_secured_libraries.py asks for it.
 *
 * Arguments: a file of client properties, a topic, a group, a group protocol. Prints what it has read.
 */
public final class RoundTrip {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        try (InputStream file = new FileInputStream(arguments[0])) {
            settings.load(file);
        }
        settings.put("group.id", arguments[2]);
        settings.put("group.protocol", arguments[3]);
        settings.put("auto.offset.reset", "earliest");
        try {
            produce(settings, arguments[1]);
            System.out.println(consume(settings, arguments[1]));
        } catch (Exception problem) {
            Throwable cause = problem instanceof ExecutionException ? problem.getCause() : problem;
            System.out.println(cause);
            Runtime.getRuntime().halt(1);
        }
    }

    private static void produce(Properties settings, String topic) throws Exception {
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>(topic, "hello")).get(60, TimeUnit.SECONDS);
        }
    }

    private static String consume(Properties settings, String topic) {
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            while (System.nanoTime() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    consumer.commitSync();
                    return record.value();
                }
            }
            throw new IllegalStateException("nothing came");
        }
    }
}
