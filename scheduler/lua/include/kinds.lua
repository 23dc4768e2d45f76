-- The gates that the limit of their kind keeps closed: `gate:tenant:*:closed:{lane}` has them by their best waiter's score,
-- `gate:tenant:*:closed-lanes` the lanes. When that limit rises, they have to be checked again: include/raised.lua.
local by_kind -- gate → its kind, if the kind's limit holds for the gate, once read
local raised -- lane → kind → the score up to which its closed gates were checked since its limit rose

at_begin(function()
    raised = emptied(raised)
    if not overrides.raised then return end
    for lane, kind, score in string.gmatch(overrides.raised, '([^\n]+)\n([^\n]+)\n([^\n]+)\n') do
        raised[lane] = raised[lane] or {}
        raised[lane][kind] = score
    end
end)

local function keep_raised()
    if not next(raised) and not overrides.raised then return end
    local lines = {}
    for lane, kinds in pairs(raised) do
        for kind, score in pairs(kinds) do lines[#lines + 1] = table.concat({lane, kind, score}, '\n') .. '\n' end
    end
    keep_text('raised', lines)
end

local function raise(kind)
    for _, lane in ipairs(call('SMEMBERS', D.kind_lanes(kind))) do
        raised[lane] = raised[lane] or {}
        raised[lane][kind] = '-inf'
    end
end

local function default_of(gate)
    if defaults[gate] then return defaults[gate] end
    local kind = kind_of(gate)
    if not kind or not defaults[kind] then return false end
    by_kind[gate] = kind
    return defaults[kind]
end

-- Indexes a gate while its kind keeps it closed, else removes it. `score`: of its best waiter in the lane; nil if open.
local function index_closed(gate, lane, score)
    local kind = kind_of(gate)
    if not kind or not (defaults[kind] or rates.is_by_kind(gate) or raised[lane] and raised[lane][kind]) then return end
    local key = D.closed(kind, lane)
    if score and (by_kind[gate] or rates.is_by_kind(gate)) then
        if call('ZADD', key, score, gate) == 1 then call('SADD', D.kind_lanes(kind), lane) end
    elseif call('ZREM', key, gate) == 1 and call('EXISTS', key) == 0 then
        call('SREM', D.kind_lanes(kind), lane)
    end
end
