"""The classic protocol of consumer groups: JoinGroup, SyncGroup, Heartbeat and LeaveGroup."""
