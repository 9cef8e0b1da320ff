package kohort;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/** What {@link KohortTest} does. */
public final class KohortExtension
        implements BeforeAllCallback, AfterTestExecutionCallback, AfterEachCallback, AfterAllCallback, ParameterResolver {
    private static final Namespace OURS = Namespace.create(KohortExtension.class);
    private static final String OWNER = "owner";

    @Override
    public void beforeAll(ExtensionContext context) {
        Store store = context.getStore(OURS);
        if (store.get(Kohort.class) == null) {  // a nested class shares the one of the class around it
            store.put(Kohort.class, start(annotation(context)));
            store.put(OWNER, context.getUniqueId());
        }
    }

    @Override
    public void afterTestExecution(ExtensionContext context) {
        if (context.getExecutionException().isPresent()) {
            System.err.println("kohort saw in " + context.getDisplayName() + ":\n" + kohort(context).report());
        }
    }

    @Override
    public void afterEach(ExtensionContext context) {
        Control.Left left = kohort(context).reset();
        if (!left.groups().isEmpty()) {
            System.err.println(
                    "kohort: " + context.getDisplayName() + " leaves members in " + String.join(", ", left.groups())
                            + "; close every consumer before the test ends");
        }
        List<String> wrong = new ArrayList<>(left.violations());
        wrong.addAll(left.gates());
        if (!wrong.isEmpty() && context.getExecutionException().isEmpty()) {
            throw new AssertionError(String.join("\n", wrong));
        }
    }

    @Override
    public void afterAll(ExtensionContext context) {
        if (context.getUniqueId().equals(context.getStore(OURS).get(OWNER))) {
            kohort(context).close();
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == Kohort.class || type == Control.class || type == String.class && parameter.isAnnotated(Bootstrap.class);
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        Kohort kohort = kohort(context);
        return type == Kohort.class ? kohort : type == Control.class ? kohort.control() : kohort.bootstrap();
    }

    private static Kohort kohort(ExtensionContext context) {
        return context.getStore(OURS).get(Kohort.class, Kohort.class);
    }

    private static KohortTest annotation(ExtensionContext context) {
        return AnnotationSupport.findAnnotation(context.getElement(), KohortTest.class)
                .orElseThrow(() -> new IllegalStateException("write @KohortTest instead of @ExtendWith(KohortExtension.class)"));
    }

    private static Kohort start(KohortTest how) {
        String bootstrap = System.getenv("KOHORT_BOOTSTRAP");
        String control = System.getenv("KOHORT_CONTROL");
        if (bootstrap != null && control != null) {
            return Kohort.at(bootstrap, control);
        }
        List<String> options = new ArrayList<>(List.of("--nodes", String.valueOf(how.nodes())));
        for (String setting : how.settings()) {
            options.addAll(List.of("--set", setting));
        }
        if (!how.asKafka().isEmpty()) {
            options.addAll(List.of("--as-kafka", how.asKafka()));
        }
        options.addAll(List.of(how.options()));
        return Kohort.start(options.toArray(String[]::new));
    }
}
