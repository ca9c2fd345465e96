"""Advice on an upgrade of a Kafka cluster: the known bugs that the cluster's settings allow before and after the
upgrade.

Read in this order: `properties` reads files, `settings` validates the settings in them, `cluster` combines a release
with settings, `decisions` decides whether settings allow a known bug, and `advice` compares two releases. The other
modules write the advice.
"""
