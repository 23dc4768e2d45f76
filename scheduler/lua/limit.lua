-- limit: set or lift the limit of one gate; what waits behind it is a candidate at once (D35).
-- Atomic. A lowered limit takes effect as running executions end. Repeating it does no harm: no request token.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: gate, limit
--   limit   a whole number >= 0, '' for none
-- Returns: the number that hold the gate now
transition('limit', function(gate, limit)
    if limit == '' then call('HDEL', K.limits, gate) else call('HSET', K.limits, gate, limit) end
    reindex(gate)
    return call('SCARD', D.held(gate))
end)
