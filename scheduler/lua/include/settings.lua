-- What every call reads first, in one command: the data's format, the state of the clock of leases, whether anything is
-- paused or limited, and the runtime settings, which override these defaults at once, on every process (D14). The
-- defaults are those of configs/settings.py; a test holds the two together. Units are in the names. Bounds are a lane's
-- own: another lane than `executions` has none until it is set, in the field `lane:LANE:NAME`.
local FORMAT = '1' -- raised when a later release could not read what this one writes: CONTRIBUTING.md
local BOUNDS = {
    max_concurrent_executions = true, max_queue_size = true, max_executions_per_user = true, stale_timeout_seconds = true,
}
local DEFAULTS = {
    max_concurrent = false, -- over everything: none
    max_concurrent_executions = 10,
    max_queue_size = 10000,
    max_executions_per_user = 100,
    stale_timeout_seconds = 3600,
    lease_ttl_ms = 30000,
    pod_lease_ttl_ms = 60000,
    grace_ms = 30000,
    max_crashes = 3,
    max_infrastructure_retries = 5,
    meta_ttl_seconds = 86400,
    direct_ttl_seconds = 600,
    result_ttl_seconds = 86400,
    reply_ttl_seconds = 600,
    dead_message_ttl_seconds = 604800,
    max_dead_messages = 10000,
    journal_max_entries = 100000,
}
local overrides
local format

at_begin(function()
    overrides = {}
    local flat = call('HGETALL', K.settings)
    for i = 1, #flat, 2 do overrides[flat[i]] = flat[i + 1] end
    format = overrides.format
end)

local function setting(name)
    return tonumber(overrides[name]) or DEFAULTS[name]
end

local function field_of(lane, name)
    return lane == OWN_LANE and name or 'lane:' .. lane .. ':' .. name
end

-- One of the BOUNDS, nil for none.
local function bound_of(lane, name)
    if lane == OWN_LANE then return setting(name) end
    return tonumber(overrides['lane:' .. lane .. ':' .. name])
end

-- An error if another release wrote what this one cannot read, else nil.
local function refused_format()
    if format and format ~= FORMAT then
        return {err = 'FORMAT ' .. format .. ' is what the data of this prefix has, and this release knows ' .. FORMAT}
    end
end
