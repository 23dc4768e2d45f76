-- explain: an execution's record and why it waits: a pause, a closed gate, its lane's bound, the limit over everything,
-- or how many are before it.
-- Read only, at one moment.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: id
-- Returns: {state, position, lane, consumer_age_ms, {reason, …}, now_ms, {field, value, …}}; {''} if unknown; lane ''
-- and no fields but state and attempt if only a tombstone is left
--   position          from 0 in its lane, -1 unless PENDING
--   consumer_age_ms   since a worker last asked for its lane, -1 for never
--   reason            paused:NAME | gate:KEY:held:LIMIT | rate:KEY:opens_in_ms | full:active:LIMIT:SETTING | due:unix_ms | before:COUNT
-- Uses: call, keys, now, settings, journal, tombstones, changes, rates, limits, gates, places, flows, slots,
--   transitions
local MOST_FLOWS = 100

-- Counts the executions of ready flows that may start before it; if the flows are many, all that wait before it.
local function count_before(m, position)
    local flows = call('ZRANGEBYSCORE', D.ready(m.lane), '-inf', '(' .. m.score, 'LIMIT', 0, MOST_FLOWS + 1)
    if #flows > MOST_FLOWS then return position end
    local before = 0
    for _, flow in ipairs(flows) do before = before + call('ZCOUNT', D.flow(m.lane, flow), '-inf', '(' .. m.score) end
    return before
end

view('explain', function(id)
    local m = load(id)
    if not m then
        m = load_tombstone(id)
        return m and {m.state, -1, '', -1, {}, now, {'state', m.state, 'attempt', m.attempt}} or {''}
    end
    -- Before what is worked out is kept in it.
    local fields = {}
    for name, value in pairs(m) do
        fields[#fields + 1] = name
        fields[#fields + 1] = value
    end
    local asked = call('HGET', K.rounds, 'lane:' .. m.lane)
    local age = asked and math.abs(now - tonumber(asked)) or -1
    local reasons, position = {}, -1
    if m.state == 'SCHEDULED' then
        reasons[1] = 'due:' .. m.due
    elseif m.state == 'PENDING' then
        position = call('ZRANK', D.pending(m.lane), id) or -1
        for _, name in ipairs({'*', 'lane:' .. m.lane}) do
            if is_paused(name) then reasons[#reasons + 1] = 'paused:' .. name end
        end
        local gates = gates_of(m)
        read_limits(gates)
        for _, gate in ipairs(gates) do
            if is_paused(gate) then
                reasons[#reasons + 1] = 'paused:' .. gate
            elseif rates.left(gate) < 1 then
                reasons[#reasons + 1] = 'rate:' .. gate .. ':' .. rates.wait_ms(gate)
            elseif not has_room(gate) then
                reasons[#reasons + 1] = 'gate:' .. gate .. ':' .. call('SCARD', D.held(gate)) .. ':' .. limits[gate]
            end
        end
        if #reasons == 0 and room_of(m.lane) < 1 then
            local most = bound_of(m.lane, 'max_concurrent_executions')
            reasons[1] = 'full:' .. slots_taken[m.lane] .. ':' .. most .. ':max_concurrent_executions'
        elseif #reasons == 0 and room_over_all() < 1 then
            reasons[1] = 'full:' .. leases_held .. ':' .. setting('max_concurrent') .. ':max_concurrent'
        end
        if not places.gate_before(m.lane, flow_of(m)) then reasons[#reasons + 1] = 'before:' .. count_before(m, position) end
    end
    return {m.state, position, m.lane, age, reasons, now, fields}
end)
