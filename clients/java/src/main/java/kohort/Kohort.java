package kohort;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A broker of its own, from {@link #start} to {@link #close}; or one that runs elsewhere. */
public final class Kohort implements AutoCloseable {
    private static final Pattern READY = Pattern.compile("READY bootstrap=(\\S+).* control=(\\S+)");
    private static final int LOG_LINES = 50;
    private static final long STOP_WITHIN_S = 20;

    private final Process process;
    private final Thread end;
    private final Deque<String> log = new ArrayDeque<>();
    private final String bootstrap;
    private final Control control;

    private Kohort(Process process) {
        this.process = process;
        this.end = new Thread(process::destroy);
        Runtime.getRuntime().addShutdownHook(end);
        Thread reader = daemon(() -> keepLog(process.getErrorStream()));
        String line = firstLine(process.getInputStream());
        Matcher ready = READY.matcher(line);
        if (!ready.find()) {
            close();
            join(reader);
            throw new IllegalStateException("kohort did not start: " + (line + " " + String.join(" ", lastLog())).strip());
        }
        this.bootstrap = ready.group(1);
        this.control = new Control(new ControlAddress(ready.group(2), System.getenv("KOHORT_CONTROL_TOKEN")));
    }

    private Kohort(String bootstrap, String control) {
        this.process = null;
        this.end = null;
        this.bootstrap = bootstrap;
        this.control = new Control(new ControlAddress(control, System.getenv("KOHORT_CONTROL_TOKEN")));
    }

    /**
     * Starts {@code kohort serve}, which must be installed with its extra control. It is looked for on the PATH; the
     * system property kohort.command or the variable KOHORT_COMMAND names it otherwise.
     *
     * @param options further ones of `kohort serve`: "--nodes", "3"
     */
    public static Kohort start(String... options) {
        List<String> command = new ArrayList<>(List.of(command(), "serve", "--listen", "127.0.0.1:0"));
        command.addAll(List.of("--control", "127.0.0.1:0", "--profile", "test", "--log-level", "warning"));
        command.addAll(List.of(options));
        try {
            return new Kohort(new ProcessBuilder(command).start());
        } catch (IOException problem) {
            throw new IllegalStateException(
                    "command " + command.get(0) + " not found; install kohort with its extra control, or name the command with"
                            + " -Dkohort.command or KOHORT_COMMAND",
                    problem);
        }
    }

    /** A broker that runs already, as in a container. */
    public static Kohort at(String bootstrap, String control) {
        return new Kohort(bootstrap, control);
    }

    private static String command() {
        String named = System.getProperty("kohort.command", System.getenv("KOHORT_COMMAND"));
        return named == null ? "kohort" : named;
    }

    /** What clients connect to. */
    public String bootstrap() {
        return bootstrap;
    }

    /** The clock, faults, gates, topics and groups. */
    public Control control() {
        return control;
    }

    /** Ends all rules, opens all gates, lets the clock run, deletes all topics, and all groups without members. */
    public Control.Left reset() {
        return control.reset.reset(true);
    }

    /** Per group: what happened, and what it waits for now. Behind that what the broker has warned of. */
    public String report() {
        StringBuilder text = new StringBuilder();
        if (process != null && !process.isAlive()) {
            text.append("kohort has ended with exit code ").append(process.exitValue()).append('\n');
        } else {
            for (Control.GroupState group : control.groups.list()) {
                control.groups.timeline(group.id()).forEach(line -> text.append(line).append('\n'));
                control.groups.explanation(group.id()).forEach(line -> text.append(line).append('\n'));
            }
        }
        lastLog().forEach(line -> text.append(line).append('\n'));
        return text.toString();
    }

    /** Stops it, if it was started here. */
    @Override
    public void close() {
        if (process == null) {
            return;
        }
        process.destroy();
        try {
            if (!process.waitFor(STOP_WITHIN_S, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
            Runtime.getRuntime().removeShutdownHook(end);
        } catch (InterruptedException problem) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        } catch (IllegalStateException problem) {
            // The machine is shutting down already, and runs the hook itself.
        }
    }

    private List<String> lastLog() {
        synchronized (log) {
            return List.copyOf(log);
        }
    }

    private void keepLog(InputStream stream) {
        try (BufferedReader lines = reader(stream)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                synchronized (log) {
                    log.addLast(line);
                    if (log.size() > LOG_LINES) {
                        log.removeFirst();
                    }
                }
            }
        } catch (IOException problem) {
            // The process has ended.
        }
    }

    private static String firstLine(InputStream stream) {
        try {
            String line = reader(stream).readLine();
            return line == null ? "" : line;
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private static BufferedReader reader(InputStream stream) {
        return new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "kohort");
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private static void join(Thread thread) {
        try {
            thread.join(TimeUnit.SECONDS.toMillis(STOP_WITHIN_S));
        } catch (InterruptedException problem) {
            Thread.currentThread().interrupt();
        }
    }
}
