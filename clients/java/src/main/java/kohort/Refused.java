package kohort;

/** The broker did not do what it was asked for; the message says what to do. */
public final class Refused extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int status;

    Refused(int status, String message) {
        super(message);
        this.status = status;
    }

    /** The HTTP status: 404 what is not there, 408 a wait in vain, 422 what cannot be. */
    public int status() {
        return status;
    }
}
