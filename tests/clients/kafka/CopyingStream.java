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
import org.apache.kafka.streams.processor.StandbyUpdateListener;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.processor.TaskId;

/**
 * Kafka Streams: copies one topic into another, and counts by key in a store of its own.
 *
 * Arguments: bootstrap, application id, source, sink, counts, processing guarantee, commit interval, state directory.
 * With another topic it is a member of a streams group, and counts by the last digit of the value there, too; with one
 * more it also counts by the first digit, which is another topology. It is a static member if the environment variable
 * GROUP_INSTANCE_ID is set. It says which partitions of its stores it keeps
 * copies of, how much of which it has read to restore a store, and when it runs; it stops when told to.
 */
public final class CopyingStream {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, arguments[5]);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, arguments[6]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[7]);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        boolean inStreamsGroup = arguments.length > 8;
        if (inStreamsGroup) {
            settings.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams");
        } else {
            settings.put(StreamsConfig.consumerPrefix("session.timeout.ms"), 3000);
            settings.put(StreamsConfig.consumerPrefix("heartbeat.interval.ms"), 300);
        }
        String instanceId = System.getenv("GROUP_INSTANCE_ID");
        if (instanceId != null) {
            settings.put(StreamsConfig.consumerPrefix("group.instance.id"), instanceId);
        }
        settings.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), 5000);

        StreamsBuilder builder = new StreamsBuilder();
        var source = builder.<String, String>stream(arguments[2]);
        source.to(arguments[3]);
        source.groupByKey().count().toStream().mapValues(String::valueOf).to(arguments[4]);
        if (inStreamsGroup) {
            source.groupBy((key, value) -> value.substring(value.length() - 1)).count().toStream()
                .mapValues(String::valueOf).to(arguments[8]);
        }
        if (arguments.length > 9) {
            source.groupBy((key, value) -> value.substring(0, 1)).count().toStream()
                .mapValues(String::valueOf).to(arguments[9]);
        }
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler(problem -> {
            problem.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> System.out.println(now));
        streams.setGlobalStateRestoreListener(new Restoring());
        streams.setStandbyUpdateListener(new Copying());
        streams.start();
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        String order = orders.readLine();
        streams.close(Duration.ofSeconds(20));
        System.out.println("CLOSED");
        Runtime.getRuntime().halt(order == null ? 3 : 0);
    }

    /** Tells which partitions of stores are read from their beginning, and how much that was. */
    private static final class Restoring implements StateRestoreListener {
        @Override public void onRestoreStart(TopicPartition partition, String store, long first, long end) { }

        @Override public void onBatchRestored(TopicPartition partition, String store, long end, long count) { }

        @Override public void onRestoreEnd(TopicPartition partition, String store, long total) {
            System.out.println("restored " + partition + " " + total);
        }
    }

    /** Tells which partitions of stores it has copies of. */
    private static final class Copying implements StandbyUpdateListener {
        @Override public void onUpdateStart(TopicPartition partition, String store, long first) {
            System.out.println("copying " + partition);
        }

        @Override public void onBatchLoaded(TopicPartition partition, String store, TaskId task, long end, long size, long last) { }

        @Override public void onUpdateSuspended(TopicPartition partition, String store, long end, long last, SuspendReason why) { }
    }
}
