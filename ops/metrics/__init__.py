"""What Prometheus, a load balancer and a person on call ask: numbers, readiness, alarms."""
