"""View of a text: its page, the format of its numbers, the app and the widget."""
