-- remove: take an execution out of the queue by force; its slot is free at once, whatever still runs.
-- Atomic: pending set, slot, gates and event go together. For operators; `cancel` is the careful way.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: caller, number, id
--   caller number   the request token
-- Returns: {code, state}; code OK | UNKNOWN | ENDED
once('remove', function(id)
    local m = load(id)
    if not m then return {'UNKNOWN', ''} end
    if m.ended_at then return {'ENDED', m.state} end
    if m.state == 'SCHEDULED' or m.state == 'PENDING' then leave_waiting(id, m) else leave_slot(id, m) end
    finish(id, m, 'remove', 'CANCELLED', 'removed', false)
    return {'OK', m.state}
end)
