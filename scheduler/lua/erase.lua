-- erase: delete what is kept of a user's executions that have ended, for a user who is to be forgotten.
-- Atomic. An execution that lives, or is another's by now, is left alone. A tombstone stays, which names nobody: a late
-- duplicate is still recognised.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, user, pseudonym, ids, by
--   caller number   the request token
--   pseudonym       the name under which the journal tells of it
--   ids             of executions, separated by newlines, '' for none
--   by              the operator who asks
-- Returns: how many there was something of
-- Uses: call, keys, settings, journal, changes, outbox, transitions
local function erase(id, user)
    local m = load(id)
    if m and (m.user ~= user or not m.ended_at) then return 0 end
    call('ZREM', K.dead, id)
    if m then
        untold.remove(id, m.lane)
        call('SET', D.ended(id), m.state .. ' ' .. (m.attempt or 0), 'EX', setting('meta_ttl_seconds'))
    end
    return call('DEL', D.meta(id), D.event(id), D.message(id), D.result(id)) > 0 and 1 or 0
end

once('erase', function(user, pseudonym, ids, by)
    local erased = 0
    for _, id in ipairs(lines_of(ids)) do erased = erased + erase(id, user) end
    note_change('erase', 'user:' .. pseudonym, '', erased, by)
    return erased
end)
