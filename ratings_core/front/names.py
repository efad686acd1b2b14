"""Names of agents as a caller of the library gives them."""

import numpy as np

from ratings_core.errors import InputError
from ratings_core.records.names import check_name


def name_of(name: object, argument: str = "name") -> str:
    """The name of an agent that is given as a text or as an integer, whose name is its decimal digits.

    So 0 and "0" are one agent, as in a column of a CSV file or of a data frame.

    Raises:
        InputError: It is neither a text nor an integer (a bool and a float are none), or it breaks a rule of `check_name`.
    """
    if isinstance(name, str):
        return check_name(name, argument)
    if isinstance(name, bool) or not isinstance(name, int | np.integer):
        raise InputError(argument, name, "must be a text, or an integer such as 0, which is the agent '0'")
    return check_name(str(name), argument)
