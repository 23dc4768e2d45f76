-- The runtime settings by name, with their defaults: those of configs/areas.py; a test compares the two. Units are in the
-- names. Each lane has its own bounds: lanes other than `executions` have none until one is set, in `lane:LANE:NAME`.
local BOUNDS = {
    max_concurrent_executions = true, max_queue_size = true, max_executions_per_user = true, stale_timeout_seconds = true,
    ageing_seconds = true,
}
local DEFAULTS = {
    max_concurrent = false, -- over everything: none
    max_concurrent_executions = 10,
    max_queue_size = 10000,
    max_executions_per_user = 100,
    stale_timeout_seconds = 3600,
    ageing_seconds = false, -- none rises
    lease_ttl_ms = 30000,
    pod_lease_ttl_ms = 60000,
    start_deadline_ms = 300000,
    grace_ms = 30000,
    max_crashes = 3,
    max_infrastructure_retries = 5,
    meta_ttl_seconds = 86400,
    direct_ttl_seconds = 600,
    result_ttl_seconds = 86400,
    reply_ttl_seconds = 600,
    dead_message_ttl_seconds = 604800,
    max_dead_messages = 10000,
    journal_max_bytes = 67108864,
}
