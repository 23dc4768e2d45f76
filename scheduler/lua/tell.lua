-- tell: take an end out of its lane's outbox, after it was reported to the execution's sender.
-- Atomic; after a crash before this call, another worker collects the end, so it is reported at least once.
-- Repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: id, ended_at, dead
--   ended_at   as collected: a later execution with that id has another end
--   dead       1: keep the execution as a dead letter
-- Returns: 1 if it was there, else 0
-- Uses: call, keys, journal, keeping, letters, outbox, transitions
transition('tell', function(id, ended_at, dead)
    local m = load(id)
    if not m or m.ended_at ~= ended_at or call('ZREM', D.outbox(m.lane), id) == 0 then return 0 end
    untold.unmark_if_empty(m.lane)
    if dead == '1' then
        keep_dead(id)
        drop_excess(K.dead)
    else
        leave_unless_kept(id, m)
    end
    journal('tell', id, m, 'state', m.state, 'reason', m.reason, 'dead', dead)
    return 1
end)
