-- rate: set or lift the rate of one gate, or of a kind; what its gates let through so far still counts.
-- Atomic. Repeating it does no harm: no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: gate, rate, by
--   gate   a gate key, or `tenant:*` for every gate `tenant:…` without a rate of its own
--   rate   `interval_ms burst window`, '' for none: milliseconds of one grant, how many may come at once, and how it was given
--   by     the operator who asks
-- Returns: 1
-- Uses: call, keys, changes, raised, transitions
transition('rate', function(gate, rate, by)
    note_change('rate', gate, call('HGET', K.rates, gate) or '', rate, by)
    if rate == '' then call('HDEL', K.rates, gate) else call('HSET', K.rates, gate, rate) end
    change_rates({[gate] = true})
    return 1
end)
