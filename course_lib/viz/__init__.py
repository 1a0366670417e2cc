"""A trace or a curve becomes a picture, a widget or a page."""
