"""Options of methods as frozen records. Each field defines its default, bounds and meaning once, for library, command line and API.

A record checks its fields on creation. It is in the module of its method, such as `BradleyTerryOptions` in `batch/bradley_terry.py`.
"""

from ratings_core.options.parameter import Parameter, Value
from ratings_core.options.record import Options, option, parameters_of

__all__ = ["Options", "Parameter", "Value", "option", "parameters_of"]
