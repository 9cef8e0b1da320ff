"""`python -m tests.release`: builds the files of a release and tries them as users do."""
