-- release: give the slot back with an outcome, only under the current grant, and admit the next in the same call.
-- Atomic: a stale attempt changes nothing (D8), a terminal state never changes, a crash leaves the lease to be reaped.
-- A cancelled execution ends as its cancellation says, unless its body had completed.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, id, attempt, holder, state, reason, result, only, dead, count, lease_ms, (lane), …
--   caller number         the request token
--   attempt               '' for the current grant
--   holder                the grant's nonce, or `pod:` and the pod's UID; '' for who knows the attempt alone
--   state reason result   the terminal state, one word why, and the outcome as JSON ('' for none)
--   only                  act only in this state ('RUNNING' when a body is settled), '' for any that holds a slot
--   dead                  1: keep it as a dead letter
--   count lease_ms lane   admit the next of these lanes; 0 for none
-- Returns: {code, state, {grant, …}}; code OK | STALE | UNKNOWN | ENDED | NOT_HELD, state is what it is in now
local HOLDING = {RUNNING = true, POD = true, CANCELLING = true}

local function settle(id, attempt, holder, state, reason, result, only, dead)
    local m = load_holder(id) or load_tombstone(id)
    if not m then return 'UNKNOWN', '' end
    if m.ended_at then return 'ENDED', m.state end
    if not HOLDING[m.state] or (only ~= '' and m.state ~= only) then return 'NOT_HELD', m.state end
    if not is_holder(id, m, attempt, holder) then return 'STALE', m.state end
    if m.cancel and not (m.state == 'RUNNING' and state == 'COMPLETED') then
        state, reason, dead = m.cancel, field(id, 'cancel_reason'), '0'
    end
    leave_slot(id, m)
    keep_result(id, result)
    finish(id, m, 'release', state, reason, dead == '1')
    return 'OK', state
end

once('release', function(id, attempt, holder, state, reason, result, only, dead, count, lease_ms, ...)
    local code, now_in = settle(id, attempt, holder, state, reason, result, only, dead)
    return {code, now_in, admit_next({...}, tonumber(count), tonumber(lease_ms))}
end, with_payloads)
