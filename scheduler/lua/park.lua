-- park: accept executions to wait, or refuse them, each for itself; one script, so a crash leaves each whole or not
-- at all (D3, D22). Atomic: duplicate guard, queue size, user limit, score and every index. What is due is promoted
-- first, so that due times and acceptance times come from one rising clock.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: caller, number, (id, lane, band, action, user, gates, timeout_ms, due_ms, event, message), …
--   caller number   the request token
--   user gates      '' for none; gates are separated by spaces
--   due_ms          unix milliseconds, '' for now
--   event message   JSON and message bytes; '' for none, never both
-- Returns: {reply, …}, one each: {'OK', state, position, score} | {'DUPLICATE', state} | {'QUEUE_FULL', limit}
--   | {'USER_LIMIT', limit}; position counts from 0 over all lanes, -1 while scheduled
local ARGUMENTS_EACH = 10
local swept_in_vain
local queued, enqueued -- how many wait; how many of each action were accepted here

local function is_full()
    queued = queued or call('ZCARD', K.pending) + call('ZCARD', K.scheduled)
    return queued >= setting('max_queue_size')
end

-- Expires what is stale, until a sweep of this call found nothing.
local function make_room()
    if swept_in_vain then return end
    local expired = 0
    for band = 0, 4 do expired = expired + sweep_band(band, '', 20) end
    swept_in_vain, queued = expired == 0, nil
end

-- Why it is refused: a code and a detail, or nil.
local function refusal(id, m)
    local known = call('HGET', D.meta(id), 'state')
    if known then return 'DUPLICATE', known end
    if is_full() then
        make_room()
        if is_full() then return 'QUEUE_FULL', setting('max_queue_size') end
    end
    local allowed = setting('max_executions_per_user')
    if m.user and tonumber(call('HGET', K.users, m.user) or '0') >= allowed then return 'USER_LIMIT', allowed end
end

-- All but meta, whose fields are returned: they are written together with the state.
local function keep(id, m, event, message)
    local ttl = setting('event_ttl_seconds')
    if event ~= '' then call('SET', D.event(id), event, 'EX', ttl) end
    if message ~= '' then call('SET', D.message(id), message, 'EX', ttl) end
    call('SADD', D.members(m.lane), id)
    queued, enqueued[m.action] = queued + 1, (enqueued[m.action] or 0) + 1
    count_user(m, 1)
    local fields = {'lane', m.lane, 'band', m.band, 'action', m.action, 'timeout_ms', m.timeout_ms, 'accepted_at', now}
    if m.user then fields[11], fields[12] = 'user', m.user end
    if m.gates then fields[#fields + 1], fields[#fields + 2] = 'gates', m.gates end
    return unpack(fields)
end

local function park(id, lane, band, action, user, gates, timeout_ms, due_ms, event, message)
    local m = {lane = lane, band = tonumber(band), action = action, timeout_ms = timeout_ms}
    if user ~= '' then m.user = user end
    if gates ~= '' then m.gates = gates end
    local code, detail = refusal(id, m)
    if code then
        journal('reject', id, m, 'reason', code)
        return {code, detail}
    end
    local due, position = tonumber(due_ms) or 0, -1
    if due > now then
        enter_scheduled(id, m, due, keep(id, m, event, message))
        m.score = ''
        if due - now < 1000 then due_soon[lane] = true end
    else
        m.score = exact(m.band * BAND_WIDTH_MS + next_time(now))
        enter_pending(id, m, keep(id, m, event, message))
        position = call('ZRANK', K.pending, id)
    end
    journal('park', id, m, 'state', m.state, 'position', position, 'score', m.score, 'gates', gates, 'due', due_ms)
    return {'OK', m.state, position, m.score}
end

once_if_memory('park', function(...)
    local given, replies = {...}, {}
    swept_in_vain, queued, enqueued = false, nil, {}
    if call('ZCARD', K.scheduled) > 0 then promote_due(200) else queued = call('ZCARD', K.pending) end
    for i = 1, #given, ARGUMENTS_EACH do
        replies[#replies + 1] = park(unpack(given, i, i + ARGUMENTS_EACH - 1))
    end
    for action, count in pairs(enqueued) do call('HINCRBY', D.action_stats(action), 'total_enqueued', count) end
    return replies
end)
