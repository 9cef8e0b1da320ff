import com.github.dockerjava.api.command.InspectContainerResponse;
import java.util.UUID;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.images.builder.Transferable;
import org.testcontainers.utility.DockerImageName;

/**
 * A container of kohort for Testcontainers: copy it into your tests. docs/how-to/containers.md tells what it does.
 *
 * <p>Which port is mapped is known only when the container runs, and clients must be told that one. So the container
 * waits for a script, which names it.
 *
 * <pre>{@code
 * try (var kafka = new KohortContainer(DockerImageName.parse("kohort"))) {
 *     kafka.start();
 *     properties.put("bootstrap.servers", kafka.getBootstrapServers());
 * }
 * }</pre>
 */
public class KohortContainer extends GenericContainer<KohortContainer> {
    private static final int PORT = 9092;
    private static final int CONTROL_PORT = 9099;
    private static final String SCRIPT = "/tmp/start"; // files are copied beneath a tmpfs, as /dev/shm is, not into it

    /** For the control address, as {@code Authorization: Bearer TOKEN}. */
    public final String token = UUID.randomUUID().toString();

    public KohortContainer(DockerImageName image) {
        super(image);
        withExposedPorts(PORT, CONTROL_PORT);
        withEnv("KOHORT_CONTROL_TOKEN", token);
        withCreateContainerCmdModifier(command -> command.withEntrypoint(
                "sh", "-c", "until [ -f " + SCRIPT + " ]; do sleep 0.1; done; . " + SCRIPT));
        waitingFor(Wait.forLogMessage(".*READY bootstrap=.*\\n", 1));
    }

    /** HOST:PORT, as this machine reaches it. */
    public String getBootstrapServers() {
        return getHost() + ":" + getMappedPort(PORT);
    }

    /** The control address, for HTTP and for KOHORT_CONTROL. */
    public String getControl() {
        return "http://" + getHost() + ":" + getMappedPort(CONTROL_PORT);
    }

    @Override
    protected void containerIsStarting(InspectContainerResponse info) {
        String serve = "exec kohort serve --profile test --listen 0.0.0.0:" + PORT
                + " --advertise " + getBootstrapServers()
                + " --control 0.0.0.0:" + CONTROL_PORT + " --control-host " + getHost();
        copyFileToContainer(Transferable.of(serve), SCRIPT);
    }
}
