"""Advice on an upgrade of a Kafka cluster: which known bugs its settings allow before the upgrade and after it.

Reading order: `properties` (files of settings), `settings` (what they say of a cluster), `cluster` (a release with
settings), `decisions` (whether settings allow a known bug), `advice`, and then the forms in which it is shown.
"""
