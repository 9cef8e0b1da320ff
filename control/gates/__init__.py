"""Gates, which hold requests and responses at named points until a test releases them."""
