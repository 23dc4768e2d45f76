-- limit: set or lift the limit of one gate, or of a kind; executions behind it may be candidates at once (D35).
-- Atomic. A lowered limit takes effect as running executions end. Repeating it does no harm: no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: gate, limit, by
--   gate    a gate key, or `tenant:*` for every gate `tenant:…` without a limit of its own
--   limit   a whole number >= 0, '' for none; of a gate also `auto(least,most)`, which adjusts itself from the present one
--           on, or, with a number behind it, from that
--   by      the operator who asks
-- Returns: the number that hold the gate now, 0 for a kind
-- Uses: call, keys, settings, changes, auto, adjusting, defaults, limits, crowded, raised, transitions

-- Returns what is known of a gate whose limit an operator lets adjust itself.
local function own_auto(gate)
    local found = auto.of(gate)
    return found and found.is_declared == 0 and found or nil
end

transition('limit', function(gate, limit, by)
    local key = is_kind(gate) and D.default_limits() or K.limits
    local before, own = call('HGET', key, gate) or '', own_auto(gate)
    local bounds = limit ~= '' and auto.read(limit)
    if own then before = auto.text(own) end
    if bounds and bounds.adjusts then
        local is_own = own and own.least == bounds.least and own.most == bounds.most
        if is_own and (not bounds.start or bounds.start == own.now) then return call('SCARD', D.held(gate)) end
        read_limits({gate})
        own = adjusting.begin(gate, bounds, limits[gate])
        note_change('limit', gate, before, auto.text(own), by)
        limit = own.now
    else
        adjusting.stop(gate)
        note_change('limit', gate, before, limit, by)
    end
    if limit == '' then call('HDEL', key, gate) else call('HSET', key, gate, limit) end
    if not is_kind(gate) then
        any_limited = call('EXISTS', K.limits) == 1
        keep_setting('limited', any_limited and 1 or nil)
    end
    change_defaults()
    if is_kind(gate) then return 0 end
    crowded.reindex(gate)
    return call('SCARD', D.held(gate))
end)
