"""The rule pages as tests: one file a section, each test names its clause and plays real rounds on a laid-down deck."""
