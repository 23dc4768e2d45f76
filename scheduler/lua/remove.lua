-- remove: take an execution out of the queue by force; its slot is free at once, whatever still runs.
-- Atomic: pending set, slot, gates and event go together. For operators; `cancel` is the careful way.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: caller, number, id
--   caller number   the request token
-- Returns: {code, state}; code OK | UNKNOWN | ENDED
-- include: keys settings time reply journal gates lanes waiting ending memory
local id = ARGV[3]

pass_at_maxmemory()
local replay = said()
if replay then return replay end

local m = load(id)
if not m then return answer({'UNKNOWN', ''}) end
if m.ended_at then return answer({'ENDED', m.state}) end
if m.state == 'SCHEDULED' or m.state == 'PENDING' then leave_waiting(id, m) else leave_slot(id, m) end
finish(id, m, 'remove', 'CANCELLED', 'removed', false)
settle_lanes()
return answer({'OK', m.state})
