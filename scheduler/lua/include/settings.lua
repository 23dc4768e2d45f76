-- The settings. Every call first reads, in one command, the data's format, the clock of leases and the settings'
-- revision. The other fields (marks of pauses and limits, and the runtime settings, which override these defaults at
-- once in every process, D14) grow with the lanes. So they are read again only when the revision has changed, and once
-- a second, so that values written by hand take effect, too. The defaults are those of configs/areas.py; a test
-- compares the two. Units are in the names. Each lane has its own bounds: lanes other than `executions` have none until
-- one is set, in the field `lane:LANE:NAME`.
local FORMAT = '1' -- raised when a later release cannot read data that this one writes: CONTRIBUTING.md
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
    journal_max_entries = 100000,
}
local overrides
local format
local lease_clock
local keep_setting

do
    local revision
    local kept_of, kept_revision, kept_at -- the prefix, revision and clock of leases under which `overrides` was read

    local function read_overrides()
        overrides = {}
        local flat = call('HGETALL', K.settings)
        for i = 1, #flat, 2 do overrides[flat[i]] = flat[i + 1] end
    end

    at_begin(function()
        local head = call('HMGET', K.settings, 'format', 'lease_clock', 'revision')
        format, lease_clock, revision = head[1] or nil, head[2] or nil, head[3] or nil
        if not revision or revision ~= kept_revision or prefix ~= kept_of or lease_clock ~= kept_at then
            read_overrides()
            kept_of, kept_revision, kept_at = prefix, revision, lease_clock
        end
    end)

    -- `value`: nil for none. No revision comes twice, even if the server came back with older data or another clock.
    function keep_setting(field, value)
        local text = value and tostring(value)
        if overrides[field] == text then return end
        overrides[field] = text
        revision = string.format('%d %d', 1 + (string.match(revision or '', '^%d+') or 0), now)
        kept_revision = nil -- so that the next call reads the settings again, even if this one fails
        if text then
            call('HSET', K.settings, field, text, 'revision', revision)
        else
            call('HDEL', K.settings, field)
            call('HSET', K.settings, 'revision', revision)
        end
    end
end

local function setting(name)
    return tonumber(overrides[name]) or DEFAULTS[name]
end

local function field_of(lane, name)
    return lane == OWN_LANE and name or 'lane:' .. lane .. ':' .. name
end

-- Returns a lane's value of one of the BOUNDS; nil for none.
local function bound_of(lane, name)
    if lane == OWN_LANE then return setting(name) end
    return tonumber(overrides['lane:' .. lane .. ':' .. name])
end

-- Returns an error if another release wrote data that this one cannot read, else nil.
local function refused_format()
    if format and format ~= FORMAT then
        return {err = 'FORMAT ' .. format .. ' is what the data of this prefix has, and this release knows ' .. FORMAT}
    end
end
