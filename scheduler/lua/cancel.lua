-- cancel: end an execution that waits; ask one that holds a slot to end. The slot stays held until pod or body is
-- gone (D10, D11): a pod's execution is CANCELLING until its pod is deleted, a body is told at its next renewal.
-- Atomic against admit, hand-over and release: exactly one terminal state results.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, id, outcome, reason, attempt, by, among
--   caller number   the request token
--   outcome         CANCELLED | TIMEOUT, the end of one that holds a slot; one that waits ends as CANCELLED
--   attempt         act only on this attempt (a timeout belongs to one), '' for any
--   by              the operator who asks, '' for none
--   among           act only in one of these states, each with a space before and behind; '' for any
-- Returns: {code, state, attempt, pod, pod_uid}; code OK | STALE | UNKNOWN | ENDED
-- Uses: call, keys, journal, tombstones, changes, waiting, ending, transitions
once('cancel', function(id, outcome, reason, attempt, by, among)
    asked_by = by
    local m = load(id) or load_tombstone(id)
    if not m then return {'UNKNOWN', '', 0, '', ''} end
    if m.ended_at then return {'ENDED', m.state, m.attempt or 0, '', ''} end
    if among ~= '' and not string.find(among, ' ' .. m.state .. ' ', 1, true) then
        return {'STALE', m.state, m.attempt or 0, '', ''}
    end
    m.before = m.state
    local waits = m.state == 'SCHEDULED' or m.state == 'PENDING'
    if attempt ~= '' and (waits or attempt ~= m.attempt) then return {'STALE', m.state, m.attempt or 0, '', ''} end
    if waits then
        leave_waiting(id, m)
        finish(id, m, 'cancel', 'CANCELLED', reason, false, true)
    elseif not m.cancel then
        if m.state == 'POD' then m.state = 'CANCELLING' end
        call('HSET', D.meta(id), 'state', m.state, 'cancel', outcome, 'cancel_reason', reason)
        journal('cancel', id, m, 'state', m.state, 'reason', reason, asked(m.before))
    end
    return {'OK', m.state, m.attempt or 0, m.pod or '', m.pod_uid or ''}
end)
