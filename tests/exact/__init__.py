"""The published numbers of section 6, and rounds under rulesets nobody released.  Pages: docs/exact-numbers.md."""
