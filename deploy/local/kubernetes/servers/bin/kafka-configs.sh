#!/bin/sh
exec /opt/kafka/bin/kafka-run kafka.admin.ConfigCommand "$@"
