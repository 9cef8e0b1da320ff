import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** Connector whose only task writes one line to a topic. Maven Central has no connect-file 4.4.0. */
public class LineConnector extends SourceConnector {
    private Map<String, String> configs;

    @Override
    public String version() {
        return "1";
    }

    @Override
    public void start(Map<String, String> configs) {
        this.configs = configs;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return LineTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return List.of(configs);
    }

    @Override
    public void stop() {
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef().define("topic", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "where the line goes");
    }

    public static class LineTask extends SourceTask {
        private String topic;
        private boolean isWritten;

        @Override
        public String version() {
            return "1";
        }

        @Override
        public void start(Map<String, String> configs) {
            topic = configs.get("topic");
            isWritten = context.offsetStorageReader().offset(partition()) != null;
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            if (isWritten) {
                Thread.sleep(100);
                return null;
            }
            isWritten = true;
            return List.of(new SourceRecord(
                partition(), Collections.singletonMap("line", 1L), topic, Schema.STRING_SCHEMA, "hello"));
        }

        @Override
        public void stop() {
        }

        private Map<String, String> partition() {
            return Collections.singletonMap("topic", topic);
        }
    }
}
