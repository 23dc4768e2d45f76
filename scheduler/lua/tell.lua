-- tell: whoever sent an execution was told of its end, which leaves the outbox of its lane.
-- Atomic; a crash before it leaves the end to whoever collects it next, so it is told at least once. Repeating it does no
-- harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: id, ended_at, dead
--   ended_at   as collected: a later execution of that id has an end of its own
--   dead       1: it is kept as a dead letter
-- Returns: 1 if it was there, else 0
-- Uses: call, keys, journal, keeping, outbox, transitions
transition('tell', function(id, ended_at, dead)
    local m = load(id)
    if not m or m.ended_at ~= ended_at or call('ZREM', D.outbox(m.lane), id) == 0 then return 0 end
    unmark_if_empty(m.lane)
    if dead == '1' then
        keep_dead(id)
        drop_excess(K.dead)
    elseif not is_kept(id, m.lane) then
        leave_record(id, m, m.state)
    end
    journal('tell', id, m, 'state', m.state, 'reason', m.reason, 'dead', dead)
    return 1
end)
