"""Who speaks, and how they show it: principals, logins, credentials. Pure: no socket, no clock, no chance."""
