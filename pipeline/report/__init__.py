"""Output for users: findings as JSON and text, and the report as one HTML file."""
