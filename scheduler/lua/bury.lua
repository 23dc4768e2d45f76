-- bury: keep a refused execution as a dead letter, when there is no caller left to tell (a pipeline's next step, a
-- callback, a message from a list). Atomic; it never waits, holds no slot and counts against no limit. A worker reports
-- its end to those who wait for its result.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, id, lane, band, action, user, gates, timeout_ms, due_ms, max_age_ms, event, message, lasting, parent, reason, result
--   caller number   the request token; the others as in park
--   reason result   the refusal's code, and its details as JSON, '' for none
-- Returns: 1 if it was kept, 0 if the id is known already
-- Uses: call, keys, now, journal, tombstones, letters, outbox, ending, transitions
once_if_memory('bury', function(id, lane, band, action, user, gates, timeout_ms, due_ms, max_age_ms, event, message, lasting, parent, reason, result)
    if state_of(id, parent) then return 0 end
    local m = {lane = lane, band = band, action = action, user = user}
    call('HSET', D.meta(id), 'state', 'FAILED', 'reason', reason, 'lane', lane, 'band', band, 'action', action,
        'timeout_ms', timeout_ms, 'accepted_at', now, 'ended_at', now)
    if user ~= '' then call('HSET', D.meta(id), 'user', user) end
    if gates ~= '' then call('HSET', D.meta(id), 'gates', gates) end
    if due_ms ~= '' then call('HSET', D.meta(id), 'due', due_ms) end
    if lasting ~= '' then call('HSET', D.meta(id), 'lasting', lasting) end
    note_sent(id, parent)
    if event ~= '' then call('SET', D.event(id), event) end
    if message ~= '' then call('SET', D.message(id), message) end
    keep_result(id, result)
    untold.remove(id, lane)
    keep_dead(id)
    untold.post(id, lane)
    drop_excess(K.dead)
    local more = gates ~= '' and {'gates', gates} or {}
    journal('bury', id, m, 'state', 'FAILED', 'reason', reason, 'dead', 1, unpack(more))
    return 1
end)
