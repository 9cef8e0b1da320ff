package kohort;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** HTTP to a control address: what {@link Control} asks with. */
final class ControlAddress {
    private static final ObjectMapper JSON =
            new ObjectMapper()
                    .setSerializationInclusion(JsonInclude.Include.NON_NULL)
                    // A newer broker may tell more than this client knows.
                    .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                    .enable(DeserializationFeature.READ_UNKNOWN_ENUM_VALUES_AS_NULL);

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String base;
    private final String token;

    /**
     * @param address host and port, or an http:// or https:// address
     * @param token the broker's control token, or null
     */
    ControlAddress(String address, String token) {
        this.base = address.contains("://") ? address.replaceAll("/$", "") : "http://" + address;
        this.token = token;
    }

    /** A part of a path. */
    static String part(Object value) {
        return URLEncoder.encode(value.toString(), StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** The only query parameter. */
    static Map<String, Object> query(String name, Object value) {
        return Collections.singletonMap(name, value);
    }

    <T> T ask(String method, String path, Map<String, Object> query, Object body, TypeReference<T> answer) {
        String text = send(request(method, path, query, body), BodyHandlers.ofString()).body();
        try {
            return answer == null ? null : JSON.readValue(text, answer);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    String text(String method, String path, Map<String, Object> query, Object body) {
        return send(request(method, path, query, body), BodyHandlers.ofString()).body();
    }

    /** Server-sent events; closing the stream hangs up. */
    <T> Stream<T> events(
            String method, String path, Map<String, Object> query, Object body, TypeReference<T> event) {
        Stream<String> lines = send(request(method, path, query, body), BodyHandlers.ofLines()).body();
        return lines.filter(line -> line.startsWith("data:")).map(line -> read(line.substring(5), event)).onClose(lines::close);
    }

    private static <T> T read(String text, TypeReference<T> type) {
        try {
            return JSON.readValue(text, type);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private HttpRequest request(String method, String path, Map<String, Object> query, Object body) {
        String given =
                query.entrySet().stream()
                        .filter(each -> each.getValue() != null)
                        .map(each -> part(each.getKey()) + "=" + part(each.getValue()))
                        .collect(Collectors.joining("&"));
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(base + path + (given.isEmpty() ? "" : "?" + given)));
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        if (body == null) {
            return request.method(method, BodyPublishers.noBody()).build();
        }
        try {
            String json = JSON.writeValueAsString(body);
            return request.header("Content-Type", "application/json").method(method, BodyPublishers.ofString(json)).build();
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private <T> HttpResponse<T> send(HttpRequest request, BodyHandler<T> handler) {
        try {
            HttpResponse<T> answer = http.send(request, handler);
            if (answer.statusCode() >= 300) {
                throw new Refused(answer.statusCode(), detail(answer.body()));
            }
            return answer;
        } catch (IOException problem) {
            throw new UncheckedIOException("nobody answers at " + base + ": " + problem.getMessage(), problem);
        } catch (InterruptedException problem) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while " + request.uri() + " was asked", problem);
        }
    }

    private static String detail(Object body) {
        String text = body instanceof Stream<?> lines ? lines.map(Object::toString).collect(Collectors.joining()) : body.toString();
        try {
            JsonNode detail = JSON.readTree(text).get("detail");
            return detail == null ? text : detail.asText();
        } catch (IOException problem) {
            return text;  // no broker's answer, but a proxy's
        }
    }
}
