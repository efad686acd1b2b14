"""The topics on the cluster: creation if allowed, checks of their settings, and their identities by the cluster's ids."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import KafkaError, TopicAlreadyExistsError

from services.log.kafka.client import TOPIC_MAX_BYTES, kafka_errors
from services.log.protocol import LogError, Retention
from services.log.records import NAMES

_LOGGER = logging.getLogger(__name__)
_NO_TOPIC = 3
_REPLICAS, _IN_SYNC = 3, 2
"""Recommended replicas of a topic, and how many must have a record before it is acknowledged. With these numbers, the loss of one broker
neither loses acknowledged records nor stops writers."""

_RATINGS = (("segment.bytes", str(128 << 20)), ("segment.ms", str(3_600_000)), ("max.compaction.lag.ms", str(86_400_000)))
"""Kafka never compacts the segment that is written. With small segments, and a limit of a day, superseded records and the names of removed
agents leave the topic in time."""


class TopicPlan(NamedTuple):
    """Required shape of a topic.

    compact: the topic is compacted, so that only the newest record of each key must be kept. more: further settings, for its creation only.
    derived: whether its records can be written again, so that it may be deleted.
    """

    name: str
    partitions: int
    compact: bool
    more: tuple[tuple[str, str], ...] = ()
    derived: bool = False

    def configs(self, replication: int) -> dict[str, str]:
        """Settings of a topic that the engine creates.

        Records are never dropped for age or size. The broker's clock sets the times of records. A replica without all acknowledged records
        never becomes the leader. With three or more replicas, a record is acknowledged when two of them have it, so that it survives the
        loss of a broker.
        """
        durable = {"unclean.leader.election.enable": "false"}
        if replication >= _REPLICAS:
            durable["min.insync.replicas"] = str(_IN_SYNC)
        return durable | {
            "cleanup.policy": "compact" if self.compact else "delete",
            "retention.ms": "-1",
            "retention.bytes": "-1",
            "message.timestamp.type": "LogAppendTime",
            "max.message.bytes": str(TOPIC_MAX_BYTES),
            **dict(self.more),
        }


class TopicFound(NamedTuple):
    """An existing topic.

    Attributes:
        identity: Text with the cluster id and the topic id.
        retention: None if the topic keeps all records.
        weaknesses: Settings with which the loss of one broker can lose acknowledged records, each with a remedy.
    """

    identity: str
    retention: Retention | None
    weaknesses: Sequence[str] = ()


def plans(prefix: str, partitions: int) -> dict[str, TopicPlan]:
    """Plans of the topics of an installation, by name without the prefix. partitions: of the outcomes topic; others have one."""
    return {name: TopicPlan(prefix + name, partitions if name == "outcomes" else 1, name == "control") for name in NAMES}


def ratings_plan(prefix: str, partitions: int) -> TopicPlan:
    """Plan of the ratings topic. It has the partitions of the outcomes topic."""
    return TopicPlan(f"{prefix}ratings", partitions, compact=True, more=_RATINGS, derived=True)


def ensure_topics(admin: KafkaAdminClient, wanted: Sequence[TopicPlan], *, create: bool, replication: int) -> dict[str, TopicFound]:
    """Check the topics, and create the missing ones if `create` is true. Returns each topic by its name.

    Raises:
        LogError: Retriable if the broker that answers has not received a new topic yet. Not retriable if a topic is missing and `create`
            is false, has another number of partitions, or drops records that must be kept.

    """
    with kafka_errors("the topics cannot be looked up or made"):
        cluster = admin.describe_cluster()["cluster_id"]
        described = _describe(admin, wanted)
        missing = [plan for plan in wanted if described[plan.name]["error_code"] == _NO_TOPIC]
        if missing:
            _make(admin, missing, create=create, replication=replication)
            described = _describe(admin, wanted)
    for plan in wanted:
        _check_partitions(plan, described[plan.name])
    configs = _configs(admin, wanted)
    return {
        plan.name: TopicFound(
            _identity(cluster, plan.name, described[plan.name]),
            _check_config(plan, configs[plan.name]) if configs else Retention(),
            _weaknesses(plan.name, described[plan.name], configs[plan.name]) if configs else (),
        )
        for plan in wanted
    }


def identity(admin: KafkaAdminClient, name: str) -> str | None:
    """Identity of the topic that has this name now; None if no topic has it. Raises `LogError`."""
    with kafka_errors(f"topic {name} cannot be looked up"):
        [topic] = admin.describe_topics([name])
        return _identity(admin.describe_cluster()["cluster_id"], name, topic) if topic["error_code"] == 0 else None


def _describe(admin: KafkaAdminClient, wanted: Sequence[TopicPlan]) -> dict[str, dict[str, Any]]:
    return {topic["name"]: topic for topic in admin.describe_topics([plan.name for plan in wanted])}


def _make(admin: KafkaAdminClient, missing: Sequence[TopicPlan], *, create: bool, replication: int) -> None:
    names = [plan.name for plan in missing]
    if not create:
        raise LogError(f"the cluster has no topics {', '.join(names)}, and making them is switched off; make them first", retriable=False)
    for plan in missing:
        settings = {"num_partitions": plan.partitions, "replication_factor": replication, "configs": plan.configs(replication)}
        try:
            admin.create_topics({plan.name: settings})
        except TopicAlreadyExistsError:
            # Another process created the topic. Its shape is checked afterwards, like that of the others.
            _LOGGER.info("topic %s was made by another process", plan.name)
    admin.wait_for_topics(names)


def _check_partitions(plan: TopicPlan, topic: Mapping[str, Any]) -> None:
    if topic["error_code"] != 0:
        raise LogError(f"topic {plan.name} cannot be described: error {topic['error_code']}", retriable=True)
    count = len(topic["partitions"])
    if count != plan.partitions:
        what = f"topic {plan.name} has {count} partitions, not {plan.partitions}"
        if plan.derived:
            raise LogError(f"{what}, the number of the outcomes topic; delete it, then shards write it again", retriable=False)
        remedy = f"set it to {count} where nothing was folded yet, or else replay into a new topic"
        raise LogError(f"{what}: the number decides where pools live and is fixed; {remedy}", retriable=False)


def _configs(admin: KafkaAdminClient, wanted: Sequence[TopicPlan]) -> dict[str, dict[str, str]]:
    """Settings of each topic; empty if this user may not read them."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, plan.name) for plan in wanted]
    try:
        described = admin.describe_configs(resources, config_filter="all")["topic"]
    except KafkaError as error:
        # Reading settings requires the permission DescribeConfigs, which folding does not require.
        _LOGGER.warning("the settings of the topics cannot be read, so they are not checked: %s", error)
        return {}
    return {plan.name: {name: entry["value"] for name, entry in described[plan.name].items()} for plan in wanted}


def _weaknesses(name: str, topic: Mapping[str, Any], config: Mapping[str, str]) -> list[str]:
    """Settings of a topic with which the loss of one broker can lose acknowledged records, each with a remedy."""
    replicas = min(len(partition["replica_nodes"]) for partition in topic["partitions"])
    if replicas < _REPLICAS:
        return [f"topic {name} has {replicas} of {_REPLICAS} replicas; reassign its partitions to {_REPLICAS} brokers"]
    weaknesses = []
    if (in_sync := int(config.get("min.insync.replicas", 1))) < _IN_SYNC:
        weaknesses.append(f"topic {name} has min.insync.replicas={in_sync}; set it to {_IN_SYNC}")
    if config.get("unclean.leader.election.enable") == "true":
        weaknesses.append(f"topic {name} has unclean.leader.election.enable=true; set it to false")
    return weaknesses


def _check_config(plan: TopicPlan, config: Mapping[str, str]) -> Retention | None:
    policy = set(config.get("cleanup.policy", "").split(","))
    if "compact" in policy and not plan.compact:
        raise LogError(f"topic {plan.name} is compacted, which drops records; set its cleanup.policy to delete", retriable=False)
    if plan.compact and policy != {"compact"}:
        _LOGGER.warning("topic %s has cleanup.policy %s; compact keeps what the engine needs", plan.name, ",".join(sorted(policy)))
    retention = _retention(config) if "delete" in policy else None
    if plan.compact and retention is not None:
        raise LogError(
            f"topic {plan.name} forgets records after {retention}, and what it holds is needed for ever; set its cleanup.policy to compact",
            retriable=False,
        )
    if config.get("message.timestamp.type") != "LogAppendTime":
        _LOGGER.warning("topic %s carries producers' clocks as record times; set message.timestamp.type to LogAppendTime", plan.name)
    return retention


def _retention(config: Mapping[str, str]) -> Retention | None:
    age, size = int(config.get("retention.ms", -1)), int(config.get("retention.bytes", -1))
    retention = Retention(None if age < 0 else age / 1000, None if size < 0 else size)
    return None if retention.unknown else retention


def _identity(cluster: str, name: str, topic: Mapping[str, Any]) -> str:
    if not topic["topic_id"]:
        raise LogError(f"the cluster gives topic {name} no id; Kafka 2.8 or newer is needed", retriable=False)
    return f"kafka:{cluster}:{topic['topic_id']}"
