"""How fast a provider streams: `bench` measures, `metrics` defines, `report` shows. The same engine as in a service or a batch."""

from headwater.bench.metrics import DEFINITIONS, Distribution, Sample, Summary, distribution, summarize
from headwater.bench.report import as_dict, definitions, headline, table_rows
from headwater.bench.run import bench

__all__ = [
    "DEFINITIONS",
    "Distribution",
    "Sample",
    "Summary",
    "as_dict",
    "bench",
    "definitions",
    "distribution",
    "headline",
    "summarize",
    "table_rows",
]
