package kohort;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A test class with a broker of its own. Its tests, constructors and @BeforeEach methods may take a {@link Kohort}, its
 * {@link Control}, or a String with {@link Bootstrap}. Between two tests everything is reset, topics and groups included. A
 * failing test prints what happened in its groups.
 *
 * <p>Where KOHORT_BOOTSTRAP and KOHORT_CONTROL are set, that broker is used, as it is.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ExtendWith(KohortExtension.class)
public @interface KohortTest {
    /** How many nodes the cluster has. */
    int nodes() default 1;

    /** Settings of the brokers, as in server.properties: "group.max.size=2". */
    String[] settings() default {};

    /** The release of Kafka that it stands in for: "2.8". */
    String asKafka() default "";

    /** Further options of `kohort serve`. */
    String[] options() default {};
}
