-- The settings. Every call first reads, in one command, the data's format, the clock of leases and the settings'
-- revision. The other fields (marks of pauses and limits, and the runtime settings, which override the defaults at
-- once in every process, D14) grow with the lanes. So they are read again only when the revision has changed, and once
-- a second, so that values written by hand take effect, too.
local FORMAT = '2' -- raised when a later release cannot read data that this one writes: CONTRIBUTING.md
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

-- Keeps lines as one field; none: no field.
local function keep_text(field, lines)
    table.sort(lines)
    keep_setting(field, lines[1] and table.concat(lines))
end

local function setting(name)
    return tonumber(overrides[name]) or DEFAULTS[name]
end

local function field_of(lane, name)
    return lane == OWN_LANE and name or 'lane:' .. lane .. ':' .. name
end

-- Returns a lane's value of one of the BOUNDS; nil for none. Lanes `slot:NAME` have those of `slot:*`, or their own; how
-- many may wait there has a default.
local function bound_of(lane, name)
    if lane == OWN_LANE then return setting(name) end
    local own = overrides['lane:' .. lane .. ':' .. name]
    if own or not code_slots.is_lane(lane) then return tonumber(own) end
    return tonumber(overrides['lane:slot:*:' .. name]) or (name == 'max_queue_size' and DEFAULTS[name]) or nil
end

-- Returns an error if another release wrote data that this one cannot read, else nil.
local function refused_format()
    if format and format ~= FORMAT then
        return {err = 'FORMAT ' .. format .. ' is what the data of this prefix has, and this release knows ' .. FORMAT}
    end
end
