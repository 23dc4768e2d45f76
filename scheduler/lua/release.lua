-- release: give the slot back with an outcome, only under the current grant, and admit the next in the same call.
-- Atomic: a stale attempt changes nothing (D8), a terminal state never changes, a crash leaves the lease to be reaped.
-- A cancelled execution ends as its cancellation says, unless its body had completed.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: caller, number, id, attempt, state, reason, result, only, dead, lane, count, lease_ms
--   caller number         the request token
--   attempt               '' for the current grant
--   state reason result   the terminal state, one word why, and the outcome as JSON ('' for none)
--   only                  act only in this state ('RUNNING' when a body is settled), '' for any that holds a slot
--   dead                  1: keep it as a dead letter
--   lane count lease_ms   admit the next of this lane; '' for none
-- Returns: {code, state, {grant, …}}; code OK | STALE | UNKNOWN | ENDED | NOT_HELD, state is what it is in now
local HOLDING = {RUNNING = true, POD = true, CANCELLING = true}

local function settle(id, attempt, state, reason, result, only, dead)
    local m = load_holder(id)
    if not m then return 'UNKNOWN', '' end
    if m.ended_at then return 'ENDED', m.state end
    if not HOLDING[m.state] or (only ~= '' and m.state ~= only) then return 'NOT_HELD', m.state end
    if attempt ~= '' and attempt ~= m.attempt then return 'STALE', m.state end
    if m.cancel and not (m.state == 'RUNNING' and state == 'COMPLETED') then
        state, reason, dead = m.cancel, m.cancel_reason, '0'
    end
    leave_slot(id, m)
    keep_result(id, result)
    finish(id, m, 'release', state, reason, dead == '1')
    return 'OK', state
end

once('release', function(id, attempt, state, reason, result, only, dead, lane, count, lease_ms)
    local code, now_in = settle(id, attempt, state, reason, result, only, dead)
    return {code, now_in, admit_next(lane, tonumber(count), tonumber(lease_ms))}
end, with_payloads)
