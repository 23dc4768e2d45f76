-- retry: give the slot back and wait again, in one transition under the grant (D9), and admit the next.
-- Atomic: a crash leaves either the grant, which is reaped, or the waiting execution. A cancelled one ends instead.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, id, attempt, holder, kind, delay_ms, reason, message, result, count, lease_ms, (lane), …
--   caller number         the request token
--   holder                the grant's nonce, or `pod:` and the pod's UID; '' for who knows the attempt alone
--   kind                  retry (from RUNNING) | requeue (from RUNNING: its body asked for it; without a delay at the end
--                         of its band, the others at their place) | hand_back (from RUNNING, it had not begun) |
--                         infrastructure (also from POD: bounded by max_infrastructure_retries, then FAILED and
--                         dead-lettered)
--   message               replaces the stored message; '' keeps it
--   result                the outcome as JSON, kept if it ends here after all; '' for none
--   count lease_ms lane   admit the next of these lanes; 0 for none
-- Returns: {code, state, {grant, …}}; code OK | STALE | UNKNOWN | ENDED | NOT_HELD, state is what it is in now
local function back(id, m, kind, delay_ms, reason, message, result)
    if m.cancel then
        leave_slot(id, m)
        keep_result(id, result)
        finish(id, m, 'release', m.cancel, field(id, 'cancel_reason'), false, true)
        return
    end
    if kind == 'infrastructure' then
        if call('HINCRBY', D.meta(id), 'infrastructure', 1) > setting('max_infrastructure_retries') then
            leave_slot(id, m)
            keep_result(id, result)
            finish(id, m, 'release', 'FAILED', reason, true)
            return
        end
    end
    if message ~= '' then call('SET', D.message(id), message) end
    wait_again(id, m, kind == 'hand_back' and kind or 'retry', delay_ms, reason, kind == 'requeue')
end

local function settle(id, attempt, holder, kind, delay_ms, reason, message, result)
    local m = load_holder(id) or load_tombstone(id)
    if not m then return 'UNKNOWN', '' end
    if m.ended_at then return 'ENDED', m.state end
    local from_pod = kind == 'infrastructure' and (m.state == 'POD' or m.state == 'CANCELLING')
    if m.state ~= 'RUNNING' and not from_pod then return 'NOT_HELD', m.state end
    if not is_holder(id, m, attempt, holder) then return 'STALE', m.state end
    back(id, m, kind, delay_ms, reason, message, result)
    return 'OK', m.state
end

once('retry', function(id, attempt, holder, kind, delay_ms, reason, message, result, count, lease_ms, ...)
    local code, now_in = settle(id, attempt, holder, kind, tonumber(delay_ms), reason, message, result)
    return {code, now_in, admit_next({...}, tonumber(count), tonumber(lease_ms))}
end, with_payloads)
