"""What documents say of the code, compared with the code."""
