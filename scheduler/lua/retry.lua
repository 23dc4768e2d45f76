-- retry: give the slot back and wait again, in one transition under the grant (D9), and admit the next.
-- Atomic: a crash leaves either the grant, which is reaped, or the waiting execution. A cancelled one ends instead.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: caller, number, id, attempt, kind, delay_ms, reason, message, result, lane, count, lease_ms
--   caller number         the request token
--   kind                  retry (from RUNNING) | hand_back (from RUNNING, it had not begun) | infrastructure (also
--                         from POD: bounded by max_infrastructure_retries, then FAILED and dead-lettered)
--   message               replaces the stored message; '' keeps it
--   result                the outcome as JSON, kept if it ends here after all; '' for none
--   lane count lease_ms   admit the next of this lane; '' for none
-- Returns: {code, state, {grant, …}}; code OK | STALE | UNKNOWN | ENDED | NOT_HELD, state is what it is in now
local function back(id, m, kind, delay_ms, reason, message, result)
    if m.cancel then
        leave_slot(id, m)
        keep_result(id, result)
        finish(id, m, 'release', m.cancel, m.cancel_reason, false)
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
    if message ~= '' then call('SET', D.message(id), message, 'EX', setting('event_ttl_seconds')) end
    wait_again(id, m, kind == 'hand_back' and kind or 'retry', delay_ms, reason)
end

local function settle(id, attempt, kind, delay_ms, reason, message, result)
    local m = load_holder(id)
    if not m then return 'UNKNOWN', '' end
    if m.ended_at then return 'ENDED', m.state end
    local from_pod = kind == 'infrastructure' and (m.state == 'POD' or m.state == 'CANCELLING')
    if m.state ~= 'RUNNING' and not from_pod then return 'NOT_HELD', m.state end
    if attempt ~= m.attempt then return 'STALE', m.state end
    back(id, m, kind, delay_ms, reason, message, result)
    return 'OK', m.state
end

once('retry', function(id, attempt, kind, delay_ms, reason, message, result, lane, count, lease_ms)
    local code, now_in = settle(id, attempt, kind, tonumber(delay_ms), reason, message, result)
    return {code, now_in, admit_next(lane, tonumber(count), tonumber(lease_ms))}
end, with_payloads)
