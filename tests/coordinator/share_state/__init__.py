"""What share coordinators keep."""
