"""Tests of the pure rules: cards, hands, money, settlement."""
