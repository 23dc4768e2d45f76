-- collect: take from a lane's outbox ends that are to be reported; for `taken_ms` no other caller gets them.
-- Atomic; if the caller dies, or loses the reply, they can be collected again after that, by the clock of leases.
-- Entries whose record has expired, so that the id may be another execution's by now, are removed.
-- Repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: lane, count, taken_ms
-- Returns: {{id, ended_at, state, reason, message}, …}
-- Uses: call, keys, time, keeping, outbox, transitions
local PAGES_A_CALL = 10

transition('collect', function(lane, count, taken_ms)
    local outbox, ends = D.outbox(lane), {}
    for _ = 1, PAGES_A_CALL do
        local due = call('ZRANGEBYSCORE', outbox, '-inf', lease_now, 'LIMIT', #ends, count - #ends)
        for _, id in ipairs(due) do
            local m, message = load_end(id, lane), call('GET', D.message(id))
            if m and message then
                ends[#ends + 1] = {id, m.ended_at, m.state, m.reason, message}
            else
                call('ZREM', outbox, id)
            end
        end
        if #due == 0 or #ends == tonumber(count) then break end
    end
    for _, taken in ipairs(ends) do call('ZADD', outbox, lease_now + tonumber(taken_ms), taken[1]) end
    untold.unmark_if_empty(lane)
    return ends
end)
