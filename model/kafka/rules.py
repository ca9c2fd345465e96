"""The table of rules: the rules of replication that changed between releases, with their values and sources.

All behaviour that is not in the table is the same in all releases. `releases` lists the value of each rule in each
release. A what-if is a release with a different value of a rule. A mutant is a what-if, or a `Protocol` with a function
that is not in the table.
"""

from __future__ import annotations

from leadline.model.kafka import assignment, epochs
from leadline.model.kafka import protocols as does
from leadline.model.kafka.protocols import Protocol
from leadline.model.rules import Rule, RuleTable, Value

RULES = (
    Rule(
        "truncation",
        "how a new follower finds out where to truncate",
        (
            Value(
                "high-watermark",
                "it truncates to its own high watermark",
                "seeds 000 to 003; before KIP-101",
                {
                    "truncates_first_to": does.own_high_watermark,
                    "asks_about": does.nothing,
                    "answers": does.nothing_to_answer,
                    "truncates_to": does.the_answer_or_own_high_watermark,
                    "sends_last_epoch": does.nothing,
                    "fetches_with_epochs": False,
                    "diverges": does.never_diverges,
                },
            ),
            Value(
                "epoch-end",
                "it asks where the epoch of its last record ends (OffsetsForLeaderEpoch), and truncates to that offset",
                "KIP-101",
                {
                    "truncates_first_to": does.own_log_end,
                    "asks_about": does.last_epoch,
                    "answers": does.end_only,
                    "truncates_to": does.the_answer_or_own_high_watermark,
                    "sends_last_epoch": does.nothing,
                    "fetches_with_epochs": False,
                    "diverges": does.never_diverges,
                },
                opens="0.11.0-IV2",
                gate="ReplicaFetcherThread.shouldSendLeaderEpochRequest",
            ),
            Value(
                "epoch-and-end",
                "the response names the epoch that it is about; the follower truncates to where both logs end that "
                "epoch, or asks again",
                "KIP-279, KAFKA-6361",
                {
                    "truncates_first_to": does.own_log_end,
                    "asks_about": does.last_epoch,
                    "answers": does.epoch_and_end,
                    "truncates_to": does.end_of_the_epoch_in_both,
                    "sends_last_epoch": does.nothing,
                    "fetches_with_epochs": False,
                    "diverges": does.by_last_epoch,  # since 2.7, whose own followers send no epoch
                },
                opens="2.0-IV0",
                gate="ReplicaFetcherThread.offsetForLeaderEpochRequestVersion",
            ),
            Value(
                "fetch",
                "its fetch requests name the epoch of its last record; it truncates if the response is diverging",
                "KIP-595, KAFKA-10554; inter.broker.protocol.version 2.7 and later",
                {
                    "truncates_first_to": does.own_log_end,
                    "asks_about": does.nothing,
                    "answers": does.epoch_and_end,  # to followers whose level is below 2.7
                    "truncates_to": does.end_of_the_epoch_in_both,
                    "sends_last_epoch": does.last_epoch,
                    "fetches_with_epochs": True,
                    "diverges": does.by_last_epoch,
                },
                opens="2.7-IV1",
                gate="ApiVersion.isTruncationOnFetchSupported",
            ),
        ),
    ),
    Rule(
        "epoch_cache",
        "from when on a leader knows its own epoch",
        (
            Value(
                "first-append",
                "from its first record in that epoch; it has no answer about an epoch older than all that it knows",
                "0.11 to 2.0.0; fixed by KAFKA-7415",
                {"end_of_epoch": epochs.known_from_first_append, "knows_from_election": False},
            ),
            Value(
                "election",
                "from its election; an epoch older than all that it knows ends where the oldest known epoch starts",
                "KAFKA-7415; KIP-101 and KIP-279 as they are written",
                {"end_of_epoch": epochs.known_from_election, "knows_from_election": True},
            ),
        ),
    ),
    Rule(
        "empty_epoch",
        "whether a follower forgets an epoch in which it led and wrote nothing when it truncates",
        (
            Value(
                "kept",
                "only if it removes a record; otherwise it asks its leader about the same epoch again",
                "2.0.1 to 2.6.0, since KAFKA-7415; fixed by KAFKA-10706",
                {"drops_empty_epoch": False},
            ),
            Value("dropped", "yes", "KAFKA-10706", {"drops_empty_epoch": True}),
        ),
    ),
    Rule(
        "same_leader",
        "what a follower does when its leader begins a new epoch",
        (
            Value(
                "goes-on",
                "it continues to fetch and does not truncate",
                "up to 2.0.0; KAFKA-7164",
                {"follows_on": does.always},
            ),
            Value(
                "goes-on-unless-one-was-missed",
                "it continues to fetch, unless it missed an epoch in between",
                "2.0.1; KAFKA-7164",
                {"follows_on": does.if_none_was_missed},
            ),
            Value("truncates", "it truncates, as for any other leader", "KIP-320", {"follows_on": does.never}),
        ),
    ),
    Rule(
        "fencing",
        "whether a leader accepts requests from followers in another leader epoch",
        (
            Value(
                "none",
                "yes: requests do not carry the epoch",
                "before KIP-320",
                {"accepts": does.from_any_epoch, "names_epoch": False},
            ),
            Value(
                "leader-epoch",
                "no: it refuses older epochs (FENCED_LEADER_EPOCH) and newer ones (UNKNOWN_LEADER_EPOCH)",
                "KIP-320, KAFKA-7395",
                {"accepts": does.from_own_epoch, "names_epoch": True},
                opens="2.1-IV2",
                gate="ReplicaFetcherThread.fetchRequestVersion",
            ),
        ),
    ),
    Rule(
        "fetch_session",
        "whether a leader checks the leader epoch of a fetch request that continues a fetch session",
        (
            Value(
                "epoch-dropped",
                "no: the session does not keep the epoch",
                "2.1 to 2.4.1, since KIP-320; fixed by KAFKA-9338 (FetchSession.CachedPartition.reqData)",
                {"keeps_session_epochs": False},
            ),
            Value("epoch-kept", "yes, as in any other request", "KAFKA-9338", {"keeps_session_epochs": True}),
        ),
    ),
    Rule(
        "isr_join",
        "how far a follower must have caught up to join the ISR",
        (
            Value(
                "high-watermark",
                "to the leader's high watermark",
                "before KAFKA-7128",
                {"admits": does.at_the_high_watermark},
            ),
            Value(
                "epoch-start",
                "to the high watermark, and to the start of the leader's epoch",
                "KAFKA-7128",
                {"admits": does.at_the_start_of_the_epoch},
            ),
        ),
    ),
    Rule(
        "isr_leave",
        "which followers a leader removes from the ISR",
        (
            Value(
                "behind-or-silent",
                "those that are behind, and those that have not fetched for a while",
                "before KAFKA-7152",
                {"lags": does.behind_or_silent},
            ),
            Value("behind", "those that are behind", "KAFKA-7152", {"lags": does.behind}),
        ),
    ),
    Rule(
        "isr_write",
        "how a leader changes the ISR",
        (
            Value(
                "compare-and-set",
                "it writes the new ISR to ZooKeeper if the old one is still there",
                "before KIP-497",
                {"in_flight": False},
            ),
            Value(
                "alter-partition",
                "it asks the controller, and counts the old and the new members until it gets the response",
                "KIP-497, KAFKA-8836; inter.broker.protocol.version 2.7 and later",
                {"in_flight": True},
                opens="2.7-IV2",
                gate="ApiVersion.isAlterIsrSupported; KRaft: always",
            ),
        ),
    ),
    Rule(
        "isr_eligibility",
        "which brokers the controller admits to the ISR",
        (
            Value(
                "any",
                "any that the leader proposes",
                "before KIP-841",
                {"may_join": does.anyone, "names_incarnations": False, "sends_incarnation": False},
            ),
            Value(
                "active",
                "brokers that are neither fenced nor shutting down",
                "KIP-841: KAFKA-13916, KAFKA-14140",
                {"may_join": does.the_active, "names_incarnations": False, "sends_incarnation": False},
            ),
            Value(
                "active-incarnation",
                "the same, except brokers that have restarted since the fetch request that the proposal is based on",
                "KIP-903, KAFKA-14617",
                {
                    "may_join": does.the_active_that_were_judged,
                    "names_incarnations": True,
                    "sends_incarnation": True,
                },
                opens="3.5-IV1",
                gate="MetadataVersion.fetchRequestVersion",
            ),
        ),
    ),
    Rule(
        "incarnation_read",
        "which incarnation (broker epoch) of a follower a leader sends to the controller",
        (
            Value(
                "twice",
                "the newest one that has fetched, even if the leader judged an older one",
                "3.5 and 3.6; fixed by KAFKA-15221",
                {"reads_incarnation_twice": True},
            ),
            Value("once", "the one that the leader judged", "KAFKA-15221", {"reads_incarnation_twice": False}),
        ),
    ),
    Rule(
        "shrink_epoch",
        "whether a new leader epoch begins when a broker leaves the ISR",
        (
            Value(
                "by-controller",
                "if the controller removes it, but not if the leader does",
                "ZooKeeper mode, all releases",
                {"epoch_for_removal": True, "epoch_for_shrink": False},
            ),
            Value(
                "always",
                "yes",
                "KRaft with metadata.version below 3.6",
                {"epoch_for_removal": True, "epoch_for_shrink": True},
            ),
            Value(
                "never",
                "no",
                "KAFKA-15021; metadata.version 3.6",
                {"epoch_for_removal": False, "epoch_for_shrink": False},
                opens="3.6-IV0",
                gate="MetadataVersion.isLeaderEpochBumpRequiredOnIsrShrink",
            ),
        ),
    ),
    Rule(
        "diverging_fetch",
        "what a leader does with the offset of a diverging fetch",
        (
            Value(
                "counted",
                "it takes the offset as the follower's log end offset",
                "2.7.0, 2.7.1 and 2.8.0; fixed by KAFKA-13141",
                {"counts_diverging": True},
            ),
            Value("ignored", "it ignores the offset", "KAFKA-13141", {"counts_diverging": False}),
        ),
    ),
    Rule(
        "diverging_hw",
        "when a follower adopts the high watermark of a diverging response",
        (
            Value(
                "before-truncation",
                "before it truncates",
                "2.8 to 3.4.0; fixed by KAFKA-14704",
                {"learns_before_truncating": True},
            ),
            Value("ignored", "never", "KAFKA-14704", {"learns_before_truncating": False}),
        ),
    ),
    Rule(
        "late_diverging",
        "whether a broker that has become leader, or follows another leader, still truncates by a diverging response",
        (
            Value(
                "truncates",
                "yes, if it was handling the response when it learned of the new epoch",
                "2.8.0; fixed by KAFKA-13207",
                {"truncates_late": True},
            ),
            Value("ignored", "no", "KAFKA-13207", {"truncates_late": False}),
        ),
    ),
    Rule(
        "last_fetched_epoch",
        "which epoch a follower sends after its first fetch response in a leader epoch",
        (
            Value(
                "lost-if-empty",
                "none if this response was empty, until it has fetched a record; so its leader finds no divergence",
                "3.5.1 to 3.6.2, since KAFKA-15080; fixed by KAFKA-15510",
                {"forgets_last_epoch": True},
            ),
            Value("kept", "the epoch of its last record", "KAFKA-15510", {"forgets_last_epoch": False}),
        ),
    ),
    Rule(
        "out_of_range",
        "what a follower does if its log is longer than its leader's",
        (
            Value(
                "exit",
                "its broker exits; with unclean.leader.election.enable it truncates to the leader's log end offset",
                "up to 2.0.0; KAFKA-3410, KAFKA-7414",
                {"exits_out_of_range": True},
            ),
            Value(
                "truncate", "it truncates to the leader's log end offset", "KAFKA-7414", {"exits_out_of_range": False}
            ),
        ),
    ),
    Rule(
        "response_hw",
        "which high watermark a fetch response carries",
        (
            Value(
                "new",
                "the one after the request was handled",
                "no release: seeds 000 to 003, as described there",
                {"tells": does.the_new_high_watermark},
            ),
            Value(
                "old",
                "the one before the request was handled",
                "no release: seed 003, comments 14 and 16",
                {"tells": does.the_old_high_watermark},
            ),
            Value(
                "read-with-records",
                "the one before, if there are records to send at once; the one after, if the request had to wait",
                "all releases: seed 003, comments 14 to 17",
                {"tells": does.old_with_records_new_from_purgatory},
            ),
        ),
    ),
    Rule(
        "hw_gate",
        "whether the high watermark advances while the ISR has fewer than min.insync.replicas members",
        (
            Value(
                "none",
                "yes",
                "before KAFKA-15583",
                {"may_raise": does.whatever_the_isr, "min_isr": does.as_configured},
            ),
            Value(
                "min-isr",
                "no; and acks=all never needs more members than there are replicas",
                "KIP-966, KAFKA-15583",
                {"may_raise": does.with_enough_in_the_isr, "min_isr": does.at_most_the_replicas},
            ),
        ),
    ),
    Rule(
        "hw_waits",
        "which followers outside the ISR the high watermark waits for",
        (
            Value(
                "isr",
                "none",
                "the designs of the KIPs; Kafka up to 0.10.1",
                {"waits_for_caught_up": False, "waits_for_ineligible": False},
            ),
            Value(
                "caught-up",
                "those that have caught up within replica.lag.time.max.ms; how long that is, is open",
                "KAFKA-4485, Partition.maybeIncrementLeaderHW; with ZooKeeper since 3.6, only if the broker is alive",
                {"waits_for_caught_up": True, "waits_for_ineligible": True},
            ),
            Value(
                "eligible",
                "of these, only those that are neither fenced nor shutting down",
                "KRaft since 3.6: KAFKA-15021, Partition.shouldWaitForReplicaToJoinIsr",
                {"waits_for_caught_up": True, "waits_for_ineligible": False},
            ),
        ),
    ),
    Rule(
        "follower_leos",
        "what a leader that begins another epoch knows of its followers' log end offsets",
        (
            Value("forgotten", "nothing", "the designs of the KIPs, which do not say", {"keeps_leos": False}),
            Value(
                "kept",
                "what it knew before",
                "all releases: Partition.makeLeader resets them only for a new leader",
                {"keeps_leos": True},
            ),
        ),
    ),
    Rule(
        "hw_checkpoint",
        "which high watermark is on disk after a crash",
        (
            Value(
                "exact",
                "the one that was in memory",
                "seeds 000 to 003, as described there",
                {"checkpoints": does.exact, "keeps_newer_checkpoints": False},
            ),
            Value(
                "older",
                "that one or an older one: it is written to disk every replica.high.watermark.checkpoint.interval.ms",
                "no release: an abstraction, in which a truncation writes it to disk",
                {"checkpoints": does.any_older, "keeps_newer_checkpoints": False},
            ),
            Value(
                "older-or-newer",
                "any that was in memory before, even a higher one: a truncation does not write it to disk",
                "all releases: Partition.createLog takes the one on disk, limited to the log end offset",
                {"checkpoints": does.any_older, "keeps_newer_checkpoints": True},
            ),
        ),
    ),
    Rule(
        "acknowledgement",
        "which records a leader acknowledges with acks=all if it already led in the epoch before",
        (
            Value(
                "own-epoch",
                "those of the new epoch",
                "seeds 000 to 003, as described there",
                {"acknowledges_earlier": False},
            ),
            Value(
                "since-it-leads",
                "all that it wrote since it became leader: its producers still wait, and epochs are not compared",
                "all releases: DelayedProduce, Partition.checkEnoughReplicasReachOffset",
                {"acknowledges_earlier": True},
            ),
        ),
    ),
    Rule(
        "isr_answer",
        "whether a leader tries to advance its high watermark when its change of the ISR is accepted",
        (
            Value(
                "ignored",
                "no; it waits for a fetch or produce request, or for a new leader epoch",
                "2.7 to 3.0, since KIP-497; fixed by KAFKA-13091 in 3.1.0",
                {"raises_when_answered": False},
            ),
            Value("tried", "yes", "KAFKA-13091; with compare-and-set, in all releases", {"raises_when_answered": True}),
        ),
    ),
    Rule(
        "isr_pending",
        "whether the response to a request for a new ISR from an earlier leader epoch drops a newer request",
        (
            Value(
                "dropped",
                "yes: the newer request is never sent, and the leader waits for its response",
                "2.7 and 2.8, since KIP-497; fixed by KAFKA-12686",
                {"drops_newer_proposals": True},
            ),
            Value("kept", "no", "KAFKA-12686", {"drops_newer_proposals": False}),
        ),
    ),
    Rule(
        "elr",
        "what happens to brokers that leave the ISR when it falls below min.insync.replicas",
        (
            Value(
                "off",
                "nothing; the last member stays in the ISR",
                "before KIP-966",
                {"has_elr": False, "eligible": does.nobody, "elects_last_known": "no"},
            ),
            Value(
                "on",
                "they become eligible leaders until they register after an unclean shutdown, so the ISR can become "
                "empty; if no eligible leader is left, the last known leader is elected once it is alive",
                "KIP-966; eligible.leader.replicas.version=1",
                {"has_elr": True, "eligible": does.who_left_too_small_an_isr, "elects_last_known": "alive"},
                opens="eligible.leader.replicas.version=1",
                gate="FeatureControlManager.isElrFeatureEnabled",
            ),
            Value(
                "on-unchecked",
                "the same, but the last known leader is elected even while it is fenced",
                "KIP-966; PartitionChangeBuilder.canElectLastKnownLeader in 4.0",
                {"has_elr": True, "eligible": does.who_left_too_small_an_isr, "elects_last_known": "fenced"},
                opens="eligible.leader.replicas.version=1",
                gate="FeatureControlManager.isElrFeatureEnabled",
            ),
        ),
    ),
    Rule(
        "bounce",
        "whether the controller notices that a broker was down if the broker is back before its session expires",
        (
            Value(
                "missed",
                "not always: the broker may stay in the ISR, and may stay the leader",
                "ZooKeeper up to 2.1: KAFKA-1120, where the new controller after a failover sends the current leader; "
                "KRaft before KAFKA-18106, if the broker registers after its session expired but before it is fenced",
                {"notices_bounces": "none"},
            ),
            Value(
                "followers-missed",
                "yes if the broker was the leader, but not always if it was a follower",
                "seeds 000 to 003, as described there",
                {"notices_bounces": "leaders"},
            ),
            Value("noticed", "yes", "KIP-380, KAFKA-7235; KRaft: KAFKA-18106", {"notices_bounces": "all"}),
        ),
    ),
    Rule(
        "late_requests",
        "whether a broker obeys a LeaderAndIsr request from before its restart",
        (
            Value(
                "obeyed",
                "yes",
                "up to 2.1; KAFKA-7235",
                {"obeys_late_requests": True, "names_broker_epochs": False},
            ),
            Value(
                "refused",
                "no",
                "KIP-380, KAFKA-7235; KRaft",
                {"obeys_late_requests": False, "names_broker_epochs": True},
                opens="2.2-IV0",
                gate="ControllerBrokerRequestBatch.sendRequestsToBrokers",
            ),
        ),
    ),
    Rule(
        "elections",
        "when a leader is elected",
        (
            Value("later", "in a separate step", "seeds 000 to 003, as described there", {"elects_at_once": False}),
            Value(
                "at-once", "in the step that makes it necessary or possible", "all releases", {"elects_at_once": True}
            ),
        ),
    ),
    Rule(
        "election_order",
        "which replica is elected if there are several candidates",
        (
            Value(
                "any",
                "any of them, which allows all that the order of the replicas allows, and more",
                "no release: an abstraction that adds behaviour",
                {"elects_in_order": False},
            ),
            Value(
                "replicas",
                "the first one in the order of the replicas",
                "all releases: PartitionChangeBuilder.electAnyLeader",
                {"elects_in_order": True},
            ),
        ),
    ),
    Rule(
        "reassignment",
        "when a reassignment completes",
        (
            Value(
                "none",
                "never: the model has no reassignments with ZooKeeper",
                "no release: reassignments with ZooKeeper take several steps (KIP-455)",
                {"reassigns": False, "completes": assignment.when_the_added_are_in_sync},
            ),
            Value(
                "added",
                "when all replicas that are being added are in the ISR",
                "KAFKA-12803; KRaft before 3.8",
                {"reassigns": True, "completes": assignment.when_the_added_are_in_sync},
            ),
            Value(
                "all",
                "when all replicas that remain are in the ISR",
                "KAFKA-15665",
                {"reassigns": True, "completes": assignment.when_all_are_in_sync},
            ),
            Value(
                "added-or-all",
                "when all replicas that are being added are in the ISR, and all that remain if fewer are added than "
                "removed",
                "KAFKA-19975",
                {"reassigns": True, "completes": assignment.when_the_added_are_in_sync_or_all},
            ),
        ),
    ),
    Rule(
        "override",
        "which replicas a reassignment that removes none still removes, if it replaces one in progress",
        (
            Value(
                "replaced",
                "none: the set of removed replicas is replaced, even by an empty one",
                "KIP-455 as it is written",
                {"replaces_removed": True},
            ),
            Value(
                "empty-kept",
                "those of the reassignment in progress",
                "KRaft: ReplicationControlManager.changePartitionReassignment",
                {"replaces_removed": False},
            ),
        ),
    ),
    Rule(
        "override_added",
        "which replicas a reassignment that adds none is still adding, if it replaces one in progress",
        (
            Value(
                "replaced",
                "none: the set of added replicas is replaced, even by an empty one",
                "KIP-455 as it is written",
                {"replaces_added": True},
            ),
            Value(
                "empty-kept",
                "those of the reassignment in progress, even if it removes them now",
                "KRaft: ReplicationControlManager.changePartitionReassignment",
                {"replaces_added": False},
            ),
        ),
    ),
    Rule(
        "elr_members",
        "whether a broker that has no replica any more stays in the ELR",
        (
            Value("replicas", "no", "KIP-966 as it is written", {"cuts_elr": True}),
            Value(
                "all",
                "yes, until the ISR has min.insync.replicas members",
                "KRaft since 3.7: PartitionChangeBuilder.maybePopulateTargetElr",
                {"cuts_elr": False},
            ),
        ),
    ),
    Rule(
        "same_record",
        "what a leader does with the record of a change of the ISR if the answer to its request was faster",
        (
            Value(
                "skipped",
                "nothing: it knows the change",
                "KRaft before 3.3; there is no such record with ZooKeeper",
                {"forgets_newer_proposals": False},
            ),
            Value(
                "applied",
                "it applies it again, and forgets an ISR that it has proposed since, while that request is still on "
                "its way",
                "KRaft since 3.3: KAFKA-13790, Partition.makeLeader",
                {"forgets_newer_proposals": True},
            ),
        ),
    ),
    Rule(
        "directories",
        "whether a broker that has lost a log directory counts as stopped cleanly",
        (
            Value(
                "one",
                "a broker has one directory, and loses it only as a whole disk (lossy_crashes)",
                "KRaft before 3.7; the model has no others with ZooKeeper",
                {"has_directories": False, "loses_directory_cleanly": False},
            ),
            Value(
                "configured",
                "yes if it stopped cleanly and the directory is no longer in its configuration",
                "KIP-858; LogManager.readBrokerEpochFromCleanShutdownFiles, KAFKA-15586",
                {"has_directories": True, "loses_directory_cleanly": True},
                opens="3.7-IV2",
                gate="MetadataVersion.isDirectoryAssignmentSupported",
            ),
            Value(
                "any-lost",
                "no",
                "no release",
                {"has_directories": True, "loses_directory_cleanly": False},
                opens="3.7-IV2",
                gate="MetadataVersion.isDirectoryAssignmentSupported",
            ),
        ),
    ),
    Rule(
        "last_known_leader",
        "whether the controller remembers the last known leader, which it elects if nobody else can be elected",
        (
            Value("kept", "yes, if there are eligible leader replicas", "KIP-966", {"forgets_last_known": False}),
            Value(
                "forgotten",
                "no",
                "no release: the partition would have no leader until an operator elects one uncleanly",
                {"forgets_last_known": True},
            ),
        ),
    ),
    Rule(
        "directory_elr",
        "what happens to the ELR when a broker tells the controller in which log directory its replica is",
        (
            Value(
                "cleared",
                "it is cleared, as if there were no eligible leader replicas",
                "3.7 to 4.2: ReplicationControlManager.handleAssignReplicasToDirs; pull request 20716",
                {"clears_elr_on_assignment": True},
            ),
            Value("kept", "nothing", "4.3 and later", {"clears_elr_on_assignment": False}),
        ),
    ),
    Rule(
        "elr_update",
        "what happens to the ELR when min.insync.replicas changes",
        (
            Value("kept", "nothing", "before 4.0", {"clears_elr_on_update": False}),
            Value(
                "cleared",
                "it is cleared, and so is the last known leader",
                "KIP-966; ClearElrRecord",
                {"clears_elr_on_update": True},
            ),
        ),
    ),
    Rule(
        "min_isr_setting",
        "when a leader uses a new min.insync.replicas",
        (
            Value("at-once", "at the same time as the controller", "no release", {"learns_settings_late": False}),
            Value(
                "later",
                "when it has applied the setting, which can be later than a smaller ISR",
                "KRaft: BrokerMetadataPublisher.onMetadataUpdate applies settings after the changes of partitions",
                {"learns_settings_late": True},
            ),
        ),
    ),
    Rule(
        "elr_min_isr",
        "with which number of replicas the controller compares min.insync.replicas",
        (
            Value("own", "with that of the partition", "no release", {"counts_first_partition": False}),
            Value(
                "first-partition",
                "with that of the topic's first partition",
                "KRaft since 3.7: ReplicationControlManager.getTopicEffectiveMinIsr",
                {"counts_first_partition": True},
            ),
        ),
    ),
    Rule(
        "late_fetch",
        "whether a leader counts a fetch request that a follower sent before it restarted",
        (
            Value("counted", "yes", "before 3.7, and with ZooKeeper", {"refuses_earlier_life": False}),
            Value(
                "refused",
                "no, if it knows of the follower's new broker epoch and the follower is not fenced",
                "KRaft since 3.7: Replica.updateFetchStateOrThrow, KAFKA-15221",
                {"refuses_earlier_life": True},
            ),
        ),
    ),
    Rule(
        "unclean_election",
        "whether the controller follows unclean.leader.election.enable",
        (
            Value(
                "on-request",
                "no: it elects a broker outside the ISR only if an operator requests it",
                "KRaft before 3.9; fixed by KAFKA-12670",
                {"elects_uncleanly": False},
            ),
            Value(
                "configured",
                "yes",
                "ZooKeeper; KRaft: KAFKA-12670",
                {"elects_uncleanly": True},
            ),
        ),
    ),
    Rule(
        "list_offsets",
        "whether a new leader tells consumers where the log ends (ListOffsets)",
        (
            Value(
                "at-any-time",
                "yes: it reports its high watermark, which may be behind",
                "before KIP-207",
                {"lists_offsets": does.at_any_time},
            ),
            Value(
                "caught-up",
                "not until its high watermark has reached the start of its epoch (OFFSET_NOT_AVAILABLE before)",
                "KIP-207, KAFKA-2334",
                {"lists_offsets": does.once_it_has_caught_up},
            ),
        ),
    ),
    Rule(
        "follower_reads",
        "whether consumers read from followers",
        (
            Value("no", "no", "before KIP-392", {"followers_serve": False}),
            Value(
                "yes",
                "yes, if replica.selector.class is set",
                "KIP-392, KAFKA-8443",
                {"followers_serve": True},
            ),
        ),
        chosen_by="the operator, by replica.selector.class",
    ),
    Rule(
        "log_start",
        "what a leader and its followers tell each other of the starts of their logs",
        (
            Value(
                "own",
                "nothing: each replica has its own, and records are deleted only by retention",
                "before KIP-107",
                {"carries_starts": False, "deletes_records": False},
            ),
            Value(
                "carried",
                "their log start offsets, in fetch requests and responses; so an operator can delete records "
                "(DeleteRecords) and learns when all replicas have done so",
                "KIP-107, KAFKA-4586",
                {"carries_starts": True, "deletes_records": True},
                opens="0.11.0-IV1",
                gate="ReplicaFetcherThread.fetchRequestVersion",
            ),
        ),
    ),
    Rule(
        "retention",
        "up to where retention deletes records",
        (
            Value(
                "log-end",
                "up to the log end offset, replicated or not",
                "0.10.2 and 0.11.0.0; fixed by KAFKA-5634",
                {"retains_up_to": does.own_log_end},
            ),
            Value(
                "high-watermark",
                "up to the high watermark of the replica",
                "KAFKA-5634",
                {"retains_up_to": does.up_to_the_high_watermark},
            ),
        ),
    ),
    Rule(
        "low_hw",
        "what becomes of a high watermark that is below the start of the log",
        (
            Value(
                "unknown",
                "it is unknown (-1) when the broker becomes the leader",
                "up to 1.0.1: Replica.convertHWToLocalOffsetMetadata; fixed by KAFKA-3978",
                {"low_hw": does.UNKNOWN},
            ),
            Value(
                "start-of-leader",
                "it becomes the log start offset when the broker becomes the leader",
                "KAFKA-3978; 1.0.2, and 1.1.0 to 2.3",
                {"low_hw": does.AT_START},
            ),
            Value(
                "kept",
                "it becomes the log start offset when the broker next learns a high watermark; a leader that has "
                "removed its whole log before keeps it, and cannot serve fetches",
                "2.4.0: Log.updateHighWatermark, Log.truncateFullyAndStartAt; fixed by KAFKA-9491",
                {"low_hw": does.KEPT},
            ),
            Value(
                "start",
                "it becomes the log start offset at once, also when a replica removes its whole log",
                "KAFKA-9491: Log.updateLogStartOffset",
                {"low_hw": does.AT_ONCE},
            ),
        ),
    ),
    Rule(
        "start_test",
        "when a leader tests whether a fetch offset is below the start of its log",
        (
            Value(
                "after-divergence",
                "only if the logs do not differ; so a diverging response carries a start that the follower cannot take",
                "2.7.0, 2.7.1 and 2.8.0; fixed by KAFKA-12996",
                {"tests_start_first": False},
            ),
            Value("first", "first", "KAFKA-12996; 2.6 and before have only this test", {"tests_start_first": True}),
        ),
    ),
    Rule(
        "response_start",
        "when a leader reads the high watermark and the log start offset of a fetch response",
        (
            Value(
                "after-records",
                "again after the records, so that they may be beyond the end of what it sends",
                "1.0.0, 1.0.1 and 1.1.0: LogReadResult.updateLeaderReplicaInfo; fixed by KAFKA-7104",
                {"reads_start_again": True},
            ),
            Value("with-records", "before the records", "KAFKA-7104", {"reads_start_again": False}),
        ),
    ),
    Rule(
        "fetch_failure",
        "what an error ends that a follower meets in a fetch response",
        (
            Value(
                "thread",
                "the thread that fetches from this leader, until the broker restarts",
                "before KIP-461: AbstractFetcherThread.processFetchRequest, 2.2.0",
                {"fails_whole_fetcher": True},
            ),
            Value(
                "partition",
                "the fetching of this partition, until the next leader epoch",
                "KIP-461, KAFKA-8346",
                {"fails_whole_fetcher": False},
            ),
        ),
    ),
)
"""The rules in which releases differ."""

SAME_IN_ALL = {"counts": does.the_maximal_isr, "learns": does.no_more_than_it_has}
"""The fields of `Protocol` for rules that the articles and their readers dispute, but that no release has changed."""

TABLE = RuleTable(RULES, SAME_IN_ALL)


def rule_and_value(protocol: Protocol, field: str) -> str:
    """Return the rule that determines a field of a protocol, with its value, as in ``isr_join=epoch-start``.

    Parameters:
        field: the name of the field.

    Returns:
        The rule and its value, or an empty string if the protocol has a function that is not in the table.
    """
    for rule in RULES:
        for value in rule.values:
            if field in value.sets and all(getattr(protocol, name) == each for name, each in value.sets.items()):
                return f"{rule.name}={value.name}"
    return ""
