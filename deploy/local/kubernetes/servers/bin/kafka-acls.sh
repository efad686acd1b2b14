#!/bin/sh
exec /opt/kafka/bin/kafka-run org.apache.kafka.tools.AclCommand "$@"
