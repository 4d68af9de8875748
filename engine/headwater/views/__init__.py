"""Views: the one event stream in the shapes of other systems. Each is imported only by who uses it."""
