-- Runtime settings: the hash overrides these defaults at once, on every process (D14). The defaults are those of
-- configs/settings.py; a test holds the two together. Units are in the names.
local DEFAULTS = {
    max_concurrent_executions = 10,
    max_queue_size = 10000,
    max_executions_per_user = 100,
    stale_timeout_seconds = 3600,
    lease_ttl_ms = 30000,
    pod_lease_ttl_ms = 60000,
    grace_ms = 30000,
    max_crashes = 3,
    max_infrastructure_retries = 5,
    event_ttl_seconds = 86400,
    meta_ttl_seconds = 86400,
    result_ttl_seconds = 86400,
    reply_ttl_seconds = 600,
    journal_max_entries = 100000,
}
local overrides
at_begin(function() overrides = nil end)

local function setting(name)
    if not overrides then
        overrides = {}
        local flat = call('HGETALL', K.settings)
        for i = 1, #flat, 2 do overrides[flat[i]] = tonumber(flat[i + 1]) end
    end
    return overrides[name] or DEFAULTS[name]
end
