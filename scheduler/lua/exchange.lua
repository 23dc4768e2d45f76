-- exchange: settle any number of grants, by release or retry, and admit up to `count` executions of some lanes, best
-- first over all of them, under all limits at once. Without settlements it only admits. A cancelled execution ends as
-- its cancellation says, unless its body had completed; it never waits again. Atomic: no grant is made at or above a
-- limit, a stale attempt changes nothing (D8), a terminal state never changes. Grants are leased, so a crash or a lost
-- reply leaks no slot (D5). A settlement or lane that fails on damaged data is reported, and the others take effect.
-- Calls also promote and reap a few executions, so that a queue with workers alone keeps going.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, count, lease_ms, max_active, asks, lanes, (id, kind, attempt, holder, state, only, dead, delay_ms, reason, message, result), …
--   caller number   the request token, which is also the nonce of the grants
--   count           0: grant nothing; without settlements, `more` then says whether there are candidates
--   lease_ms        0: start deadline, the execution's timeout and grace, for grants that nobody renews
--   max_active      for one lane and count > 0: a limit in place of its max_concurrent_executions; '' for none
--   asks            1: the caller is a live consumer of these lanes, which marks them as live
--   lanes           separated by newlines
--   kind            release: it ends in `state`; or it waits again: retry | requeue (its body asked for it; without a delay at
--                   the end of its band, the others at their place) | hand_back (it had not begun) | infrastructure
--                   (bounded by max_infrastructure_retries, then FAILED and dead-lettered)
--   attempt holder  '' for the current grant; its nonce, or `pod:` and the pod's UID, '' if only the attempt is known
--   only            act only in this state ('RUNNING' when a body is settled), '' for any that holds a slot
--   dead            1: keep it as a dead letter
--   reason message result   one word; a message to replace the stored one; the result as JSON if it ends; '' for none
-- Returns: {more, wait_ms, untold, {code, state, …}, {grant, …}, {name, error, …}}, the last only if something failed:
--   `name` is a lane, or the id of an execution that was to be promoted, reaped or swept. A grant is id, attempt,
--   nonce, lane, lease_ms, event, message; grants are one flat list, since each table costs as much as a command
--   more 1: call again: a bound of this call was reached; or a candidate of another live lane goes before the next one;
--   or, with count 0, there are candidates
--   wait_ms: until the next due time, lease end or opening by a rate; -1 for none, and with settlements unless `asks`
--   untold 1: an outbox of these lanes may have ends to collect; always 0 unless `asks` is 1
--   code OK | STALE | UNKNOWN | ENDED | NOT_HELD, and the state that it is in now; or ERROR, and the error
-- Uses: call, apart, keys, settings, journal, tombstones, auto, later, ranking, crowded, attempts, outbox, ending,
--   repair, payloads, fence, admitting, serving, transitions
local ARGUMENTS_EACH = 11
local HOLDING = {RUNNING = true, POD = true, CANCELLING = true}

local function finish_held(id, m, state, reason, result, dead, unseen)
    leave_slot(id, m)
    keep_result(id, result)
    finish(id, m, 'release', state, reason, dead, unseen)
end

local function release(id, m, state, dead, reason, result)
    if m.cancel and not (m.state == 'RUNNING' and state == 'COMPLETED') then
        return finish_held(id, m, m.cancel, field(id, 'cancel_reason'), result, false)
    end
    finish_held(id, m, state, reason, result, dead == '1')
end

local function give_back(id, m, kind, delay_ms, reason, message, result)
    if m.cancel then return finish_held(id, m, m.cancel, field(id, 'cancel_reason'), result, false, true) end
    if kind == 'infrastructure' and call('HINCRBY', D.meta(id), 'infrastructure', 1) > setting('max_infrastructure_retries') then
        return finish_held(id, m, 'FAILED', reason, result, true)
    end
    if message ~= '' then call('SET', D.message(id), message) end
    wait_again(id, m, kind == 'hand_back' and kind or 'retry', tonumber(delay_ms), reason, kind == 'requeue')
end

local function settle(id, kind, attempt, holder, state, only, dead, delay_ms, reason, message, result)
    local m = load_holder(id) or load_tombstone(id)
    if not m then return 'UNKNOWN', '' end
    if m.ended_at then return 'ENDED', m.state end
    if not HOLDING[m.state] or (only ~= '' and m.state ~= only) then return 'NOT_HELD', m.state end
    if not is_holder(id, m, attempt, holder) then return 'STALE', m.state end
    if auto.exist() then apart(attempts.note_end, id, m, kind, state, reason) end
    if kind == 'release' then release(id, m, state, dead, reason, result) else give_back(id, m, kind, delay_ms, reason, message, result) end
    return 'OK', m.state
end

once('exchange', function(count, lease_ms, max_active, asks, lanes, ...)
    local settlements, outcomes, lanes, wait_ms = {...}, {}, lines_of(lanes), nil
    keep_apart()
    for i = 1, #settlements, ARGUMENTS_EACH do
        local code, now_in = apart(settle, unpack(settlements, i, i + ARGUMENTS_EACH - 1))
        outcomes[#outcomes + 1] = code or 'ERROR'
        outcomes[#outcomes + 1] = code and now_in or failed.take()
    end
    if asks == '1' then note_asked(lanes) end
    local is_told_when = asks == '1' or #settlements == 0
    if is_told_when then wait_ms = repair() else repair_now_and_then() end
    crowded.tell(lanes)
    serve()
    local grants, more = (#settlements > 0 and admit_next or admit)(lanes, tonumber(count), tonumber(lease_ms), tonumber(max_active))
    if is_told_when then
        wait_ms = math.min(wait_ms or math.huge, later.wait_ms(lanes))
        for i = 1, #grants, GRANT_FIELDS do wait_ms = math.min(wait_ms, grants[i + 3]) end
    end
    if not wait_ms or wait_ms == math.huge then wait_ms = -1 end
    return {more, wait_ms, asks == '1' and untold.exist(lanes) and 1 or 0, outcomes, grants, failed.all()}
end, payload.added_to)
