"""A real Kafka and kohort, side by side: the same requests to both, and what differs in their answers.

    python -m tests.differential --sequences 200

`kinds.py` makes sequences of requests up from a seed, `playing.py` plays one against both brokers in step,
`comparing.py` finds what differs while ids may, `shrinking.py` makes the sequence as short as it can be, and
`writing.py` writes it down as a conversation with Kafka's answers as the expected ones. Intended differences are
in `known.py`, each with its reason.
"""
