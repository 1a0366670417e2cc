"""What lectures run besides the library's schemes, so that their cells stay short."""
