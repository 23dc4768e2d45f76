-- Limits of gates for which no operator set one: those of a kind (`tenant:*` for every gate `tenant:…`), which
-- operators set and lanes declare, and those that lanes declare for single gates. `limits:defaults` keeps each by
-- itself. Merged, they are a field of the settings, which every call reads anyway. A gate goes before its kind, an
-- operator's limit before a declared one, and of several lanes' declarations the lowest holds.
local defaults = {} -- gate or kind → limit

local function put_together()
    local declared, set = {}, {}
    local flat = call('HGETALL', D.default_limits())
    for i = 1, #flat, 2 do
        local name, lane = string.match(flat[i], '^([^\n]+)\n?(.*)$')
        local limit = tonumber(flat[i + 1])
        if lane == '' then set[name] = limit else declared[name] = math.min(limit, declared[name] or limit) end
    end
    for kind, limit in pairs(set) do declared[kind] = limit end
    return declared
end

local forget_defaults
do
    local read_from = false -- the text that `defaults` was read from; most calls find it unchanged

    local function read(text)
        defaults, read_from = {}, text
        for name, limit in string.gmatch(text or '', '([^\n]+)\n(%d+)\n') do defaults[name] = tonumber(limit) end
    end

    at_begin(function()
        if not format then
            defaults, read_from = put_together(), false
        elseif overrides.default_limits ~= read_from then
            read(overrides.default_limits)
        end
    end)

    -- Lets the next call read them again.
    function forget_defaults() read_from = false end
end

local function keep_text(name, lines)
    table.sort(lines)
    keep_setting(name, lines[1] and table.concat(lines))
end

local function keep_defaults()
    local lines = {}
    for name, limit in pairs(defaults) do lines[#lines + 1] = string.format('%s\n%d\n', name, limit) end
    keep_text('default_limits', lines)
    forget_defaults()
end

local function is_kind(name)
    return string.sub(name, -2) == ':*'
end

local function kind_of(gate)
    local before = string.match(gate, '^[^:]+:')
    return before and before .. '*'
end
