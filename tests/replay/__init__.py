"""The verifier and the scenarios: known rounds, broken records, bad input."""
