"""What all tests share: property tests are seeded, and compiling a kernel on first use is no slow example."""

from hypothesis import settings

settings.register_profile("equirank", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("equirank")
