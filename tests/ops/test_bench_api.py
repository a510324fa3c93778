"""The benchmark of the API works: real server, real load, tiny sizes.  How fast it is stands in docs/benchmarks.md."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from random import Random

import pytest

from domain.round.phases import Phase
from ops.api_client import ApiProblem, Client
from ops.bench_api import QUICK, TARGETS, Casino, Sizes, copied, furnished, multiply, open_rounds, run
from ops.bench_api_load import DECISIONS, DirectTables, HttpReads, HttpTables, Load, LoadLost, Table
from ops.bench_api_shares import shares
