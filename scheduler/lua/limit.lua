-- limit: set or lift the limit of one gate, or of a kind; executions behind it may be candidates at once (D35).
-- Atomic. A lowered limit takes effect as running executions end. Repeating it does no harm: no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: gate, limit, by
--   gate    a gate key, or `tenant:*` for every gate `tenant:…` without a limit of its own
--   limit   a whole number >= 0, '' for none
--   by      the operator who asks
-- Returns: the number that hold the gate now, 0 for a kind
-- Uses: call, keys, settings, changes, defaults, limits, gates, raised, transitions
transition('limit', function(gate, limit, by)
    local key = is_kind(gate) and D.default_limits() or K.limits
    note_change('limit', gate, call('HGET', key, gate) or '', limit, by)
    if limit == '' then call('HDEL', key, gate) else call('HSET', key, gate, limit) end
    if is_kind(gate) then
        change_defaults()
        return 0
    end
    forget_limits()
    any_limited = call('EXISTS', K.limits) == 1
    keep_setting('limited', any_limited and 1 or nil)
    reindex(gate)
    return call('SCARD', D.held(gate))
end)
