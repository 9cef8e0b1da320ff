"""What a person gets: findings as JSON, in words, and as one HTML file."""
