-- Limits of gates for which no operator set one: those of a kind (`tenant:*` for every gate `tenant:…`), which
-- operators set and lanes declare, and those that lanes declare for single gates. `limits:defaults` keeps each by
-- itself. Merged, they are a field of the settings, which every call reads anyway. A gate goes before its kind, an
-- operator's limit before a declared one, and of several lanes' declarations the lowest holds.
local defaults = {} -- gate or kind → limit

-- Returns the limits, and of the gates for which lanes declare `auto(least,most)`, these bounds.
local function put_together()
    local declared, set, autos, flat = {}, {}, {}, call('HGETALL', D.default_limits())
    for i = 1, #flat, 2 do
        local name, lane = string.match(flat[i], '^([^\n]+)\n?(.*)$')
        local bounds = auto.read(flat[i + 1])
        if lane == '' then set[name] = bounds.most else declared[name] = auto.lowest(declared[name], bounds) end
    end
    for name, bounds in pairs(declared) do
        if bounds.adjusts then autos[name] = bounds end
        declared[name] = bounds.adjusts and auto.declared_now(name, bounds) or bounds.most
    end
    for kind, limit in pairs(set) do declared[kind] = limit end
    return declared, autos
end

local keep_defaults
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

    function keep_defaults()
        local lines = {}
        for name, limit in pairs(defaults) do lines[#lines + 1] = string.format('%s\n%d\n', name, limit) end
        keep_text('default_limits', lines)
        read_from = false -- so that the next call reads them again
    end
end

local function is_kind(name)
    return string.sub(name, -2) == ':*'
end

local function kind_of(gate)
    local before = string.match(gate, '^[^:]+:')
    return before and before .. '*'
end

-- Puts what lanes declare now, `name\nlane` → value, in place of all that they declared before. Returns the names of which
-- some lane's declaration is another one now.
local function declare_anew(key, lanes, wanted)
    local own, changed_names, known = {}, {}, call('HGETALL', key)
    for lane in string.gmatch(lanes, '%S+') do own[lane] = true end
    for i = 1, #known, 2 do
        local name, lane = string.match(known[i], '^([^\n]+)\n(.+)$')
        if wanted[known[i]] == known[i + 1] then
            wanted[known[i]] = nil
        elseif own[lane] and not wanted[known[i]] then
            call('HDEL', key, known[i])
            changed_names[name] = true
        end
    end
    for field, value in pairs(wanted) do
        call('HSET', key, field, value)
        changed_names[string.match(field, '^[^\n]+')] = true
    end
    return changed_names
end
