import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.StateRestoreListener;

/**
 * Kafka Streams in a streams group: counts by key in stores.
 *
 * Arguments: bootstrap, application id, client id, source, state directory, milliseconds to pause after each batch of a
 * hundred records that is restored, stores. It says a line of JSON for each thing that happens, and closes when its
 * input ends or says something.
 */
public final class CountingStream {
    private static String name;

    public static void main(String[] arguments) throws Exception {
        name = arguments[2];
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        settings.put(StreamsConfig.CLIENT_ID_CONFIG, arguments[2]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[4]);
        settings.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams");
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1000);
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        settings.put(StreamsConfig.restoreConsumerPrefix("max.poll.records"), 100);

        StreamsBuilder builder = new StreamsBuilder();
        var source = builder.<String, String>stream(arguments[3]);
        for (int number = 6; number < arguments.length; number++) {
            source.groupByKey().count(Materialized.as(arguments[number]));
        }
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler(problem -> {
            tell("failed");
            problem.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> tell(now.name()));
        streams.setGlobalStateRestoreListener(new Restoring(Long.parseLong(arguments[5])));
        streams.start();
        new BufferedReader(new InputStreamReader(System.in)).readLine();
        streams.close(Duration.ofSeconds(20));
        tell("closed");
        Runtime.getRuntime().halt(0);
    }

    private static synchronized void tell(String event) {
        System.out.println("{\"ms\": " + System.currentTimeMillis() + ", \"member\": \"" + name + "\", \"event\": \"" + event + "\"}");
    }

    /** Tells when a store is read from its changelog, and takes its time. */
    private record Restoring(long pauseMs) implements StateRestoreListener {
        @Override public void onRestoreStart(TopicPartition partition, String store, long first, long end) {
            tell("restoring " + partition.partition() + " " + (end - first));
        }

        @Override public void onBatchRestored(TopicPartition partition, String store, long end, long count) {
            try {
                Thread.sleep(pauseMs);
            } catch (InterruptedException wanted) {
                Thread.currentThread().interrupt();
            }
        }

        @Override public void onRestoreEnd(TopicPartition partition, String store, long total) {
            tell("restored " + partition.partition() + " " + total);
        }
    }
}
