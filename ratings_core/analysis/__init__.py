"""What the data and the ratings are made of: components, cycles, contributions, intervals."""
