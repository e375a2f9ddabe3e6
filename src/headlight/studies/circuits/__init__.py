"""What heads do on random repeats and hidden facts, and what their weights say."""
