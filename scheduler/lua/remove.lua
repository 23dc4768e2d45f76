-- remove: take an execution out of the queue by force; its slot is free at once, even if its work still runs.
-- Atomic: pending set, slot, gates and event go together. For operators; `cancel` is the careful way.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, id, silent, by
--   caller number   the request token
--   silent          1: its sender is not told of its end
--   by              the operator who asks, '' for none
-- Returns: {code, state}; code OK | UNKNOWN | ENDED
-- Uses: journal, tombstones, changes, waiting, ending, transitions
once('remove', function(id, silent, by)
    asked_by = by
    local m = load(id) or load_tombstone(id)
    if not m then return {'UNKNOWN', ''} end
    if m.ended_at then return {'ENDED', m.state} end
    m.before = m.state
    if m.state == 'SCHEDULED' or m.state == 'PENDING' then leave_waiting(id, m) else leave_slot(id, m) end
    finish(id, m, 'remove', 'CANCELLED', 'removed', false, silent ~= '1')
    return {'OK', m.state}
end)
