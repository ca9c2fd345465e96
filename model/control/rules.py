"""The table of rules for the `control` family: the rules in which the controllers of different releases differ.

For replication, the rules of the `kafka` family apply, except those in `REPLACED`.
"""

from __future__ import annotations

from leadline.model.control import protocols as does
from leadline.model.kafka import rules as kafka
from leadline.model.rules import Rule, RuleTable, Value

RULES = (
    Rule(
        "metadata",
        "where controllers write, and what a new controller knows of the brokers",
        (
            Value(
                "zookeeper",
                "in ZooKeeper; it takes the brokers as they are when it starts",
                "up to 3.9: KafkaController.onControllerFailover, initializeControllerContext",
                {"keeps_log": False},
            ),
            Value(
                "log",
                "in the metadata log, which also has the registrations: it knows what its predecessor has committed",
                "KIP-500, KIP-631: QuorumController, ClusterControlManager",
                {"keeps_log": True},
            ),
        ),
    ),
    Rule(
        "controller_election",
        "when a new controller raises the controller epoch",
        (
            Value(
                "later",
                "after it has created /controller, in a write of its own",
                "0.8.0 to 2.0.1: ZookeeperLeaderElector.elect, KafkaController.incrementControllerEpoch",
                {"elects_at_once_with_epoch": False},
            ),
            Value(
                "at-once",
                "in the transaction that creates /controller",
                "KAFKA-6082; 2.1.0: KafkaZkClient.registerControllerAndIncrementControllerEpoch",
                {"elects_at_once_with_epoch": True},
            ),
        ),
    ),
    Rule(
        "controller_writes",
        "which writes of a former controller ZooKeeper refuses",
        (
            Value(
                "unless-written-since",
                "writes of a partition state that a newer controller has written",
                "0.8.0 to 2.0.1: PartitionStateMachine, controllerEpoch > controller.epoch",
                {"fences_writes": False},
            ),
            Value(
                "fenced",
                "all, by the version of /controller_epoch",
                "KAFKA-6082; 2.1.0",
                {"fences_writes": True},
            ),
        ),
    ),
    Rule(
        "own_node",
        "what a broker does if it finds its own id in /controller, although it does not act as the controller",
        (
            Value(
                "waits",
                "nothing: an election has been won",
                "KAFKA-13407; up to 3.9: ZookeeperLeaderElector.elect, KafkaController.elect",
                {"starts_if_elected": False},
            ),
            Value(
                "starts",
                "it starts as the controller",
                "KAFKA-13407: pull request 11476, which is in no release",
                {"starts_if_elected": True},
            ),
        ),
    ),
    Rule(
        "controller_epoch",
        "what a former controller does with the epoch of the new one",
        (
            Value("adopts", "it takes it for its own", "KAFKA-1096; fixed in 0.8.2.0", {"adopts": True}),
            Value("keeps", "nothing: it keeps its own", "KAFKA-1096", {"adopts": False}),
        ),
    ),
    Rule(
        "controller_requests",
        "whether brokers refuse requests of a controller that is older than one that they have obeyed",
        (
            Value("obeyed", "no: they obey every controller", "KAFKA-532; fixed in 0.8.0", {"fences_requests": False}),
            Value("fenced", "yes, by the controller epoch", "KAFKA-532", {"fences_requests": True}),
        ),
    ),
    Rule(
        "broker_change",
        "how the controller sees that a broker has restarted",
        (
            Value(
                "ids",
                "only if it finds that broker missing before it is back",
                "KAFKA-1120; up to 2.1.1. KRaft up to 3.9, if the broker registers after its session has ended and "
                "before it is fenced: KAFKA-18106, ClusterControlManager.registerBroker",
                {"compares_epochs": False},
            ),
            Value(
                "epochs",
                "by its broker epoch: the creation zxid of its node, or the offset of its registration",
                "KIP-380, KAFKA-1120; 2.2.0. KRaft: KAFKA-18106; 4.0.0",
                {"compares_epochs": True},
            ),
        ),
    ),
    Rule(
        "broker_epoch",
        "whether a broker obeys requests that were sent before it restarted",
        (
            Value("none", "yes", "KAFKA-7235; up to 2.1.1", {"names_generations": False}),
            Value("named", "no: requests contain its broker epoch", "KIP-380; 2.2.0", {"names_generations": True}),
        ),
    ),
    Rule(
        "dead_at_start",
        "what a new controller does with followers that are down",
        (
            Value(
                "stay", "nothing: the leader removes them from the ISR", "up to 2.2.2", {"removes_dead_at_start": False}
            ),
            Value(
                "leave",
                "it removes them from the ISR",
                "KAFKA-3143; 2.3.0: ReplicaStateMachine.startup",
                {"removes_dead_at_start": True},
            ),
        ),
    ),
    Rule(
        "reassigning",
        "where ZooKeeper stores a reassignment in progress",
        (
            Value(
                "admin", "in /admin/reassign_partitions: it cannot be cancelled", "up to 2.3", {"reassigns_by": "admin"}
            ),
            Value(
                "assignment",
                "with the replicas in /brokers/topics: it can be cancelled",
                "KIP-455, KAFKA-8345; 2.4.0",
                {"reassigns_by": "assignment"},
            ),
        ),
    ),
    Rule(
        "shrinks_unassigned",
        "whether a leader can shrink the ISR while the ISR contains a broker that is not a replica",
        (
            Value(
                "yes",
                "yes",
                "up to 2.3: Partition.getOutOfSyncReplicas; KAFKA-9672; 3.0.0: Partition.isFollowerOutOfSync",
                {"shrinks_unassigned": True},
            ),
            Value(
                "no",
                "no: its check of the ISR fails because it does not know this broker",
                "KAFKA-9672; 2.4.0 to 2.8.2: Partition.isFollowerOutOfSync, getReplicaOrException",
                {"shrinks_unassigned": False},
            ),
        ),
    ),
    Rule(
        "stop_replica",
        "which StopReplica requests a broker obeys",
        (
            Value("any", "all: they contain no leader epoch", "up to 2.5", {"obeys_stop": does.at_any_epoch}),
            Value(
                "newer",
                "those with a higher leader epoch than its own",
                "KIP-570, KAFKA-9539; 2.6.0",
                {"obeys_stop": does.at_a_newer_epoch},
            ),
            Value(
                "not-older",
                "those with its own leader epoch or a higher one",
                "KAFKA-13972; 3.4.1 and 3.5.0",
                {"obeys_stop": does.at_the_same_or_a_newer_epoch},
            ),
        ),
    ),
    Rule(
        "newer_leader",
        "what a controller answers to an AlterPartition request from a newer leader epoch than it knows",
        (
            Value(
                "refused",
                "that the leader epoch is outdated: the leader waits for a change that does not come",
                "KRaft 3.0 to 3.2: ReplicationControlManager.alterPartition, leaderEpoch != partition.leaderEpoch; "
                "KAFKA-14154",
                {"refuses_newer_leaders": True},
            ),
            Value(
                "not-controller",
                "that it may not be the controller: the leader sends the request again",
                "KAFKA-14154; 3.3.0: NOT_CONTROLLER. ZooKeeper 2.7 to 3.2: the write of a former controller fails, and "
                "UNKNOWN_SERVER_ERROR is retried (KafkaController.processAlterIsr)",
                {"refuses_newer_leaders": False},
            ),
        ),
    ),
)
"""The rules, in the order in which they are shown."""

REPLACED = {
    "bounce": "noticed",
    "late_requests": "refused",
    "elections": "at-once",
    "reassignment": "none",
    "override": "replaced",
    "override_added": "replaced",
}
"""The rules of the `kafka` family that this family replaces, because it has the processes that they stand for. Each has
the value with which the functions of that family leave the matter to this one.
"""

TABLE = RuleTable(
    (rule for rule in (*RULES, *kafka.RULES) if rule.name not in REPLACED),
    {**kafka.SAME_IN_ALL, **RuleTable(rule for rule in kafka.RULES if rule.name in REPLACED).fields(REPLACED)},
)
"""The rules of the controller, followed by those of replication."""
