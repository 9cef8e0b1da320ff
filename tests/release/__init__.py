"""`python -m tests.release`: what a release uploads, built and tried as its users will."""
