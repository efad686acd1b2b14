"""The fixtures of the API's tests."""

from tests.unit.api.conftest import api, api_redis, keyed

__all__ = ["api", "api_redis", "keyed"]
