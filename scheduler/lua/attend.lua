-- attend: a round of a process that waits for slots or holds some: it lives, has these news, and wants others.
-- Atomic; news stay until a later round says that they arrived, so a lost reply loses none. Repeating it does no harm, so
-- it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: owner, lanes, insisted, received
--   owner      the process's name in its executions' ids
--   lanes      those in which it waits, separated by newlines; what may start there starts, whoever waits for it
--   insisted   those of them in which nothing yields any more, likewise
--   received   ids of executions whose news arrived, likewise
-- Returns: {lease_ms, live_count, {id, news, …}, {lane, …}, wait_ms}
--   lease_ms     how long its leases are, and for how long it counts as living
--   live_count   its executions that wait or hold a slot
--   news         GRANTED attempt nonce; or the state in which it ended, and the reason
--   lane         one in which it yields to executions that were accepted before
--   wait_ms      until a rate opens a gate to one of these lanes; -1: none does
-- Uses: call, keys, code_slots, settings, time, changed, later, ranking, crowded, repair, serving, transitions
transition('attend', function(owner, lanes, insisted, received)
    local lease_ms = setting('lease_ttl_ms')
    call('ZADD', K.owners, lease_now + lease_ms, owner)
    for _, id in ipairs(lines_of(received)) do call('HDEL', D.slot_news(owner), id) end
    lanes = lines_of(lanes)
    note_asked(lanes)
    for _, lane in ipairs(lanes) do changed.touched[lane] = true end
    for _, lane in ipairs(lines_of(insisted)) do code_slots.insist(lane) end
    repair()
    crowded.tell(lanes)
    serve()
    local wait_ms = later.wait_ms(lanes)
    return {
        lease_ms, call('SCARD', D.slot_members(owner)), call('HGETALL', D.slot_news(owner)), code_slots.yielded(),
        wait_ms < math.huge and wait_ms or -1,
    }
end)
