-- restore: bring executions to the states in which the ledger knows them, if Redis lost its data or came back with older
-- ones. Atomic for each; a repeated call finds all as it should be. What Redis knows to have ended stays so, as does what it
-- knows of the same or a later attempt, or of a later execution; but what has ended in the ledger ends here, too. What was
-- granted holds its slot again, whatever the limits say: it may still run. A dead letter whose time is over only ends.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, (id, meta, due, dead, event, message, result), …
--   caller number   the request token
--   meta            its record as a JSON object of strings: state, lane, band, action, accepted_at and, if it has
--                   them, timeout_ms, score, attempt, user, gates, lasting, expires_at, pod, pod_uid, reason and ended_at
--   due dead        SCHEDULED: when it is due; '' otherwise. 1: it is a dead letter
--   event message result   as in park and exchange; '' for none
-- Returns: one each: RESTORED | ENDED | NEWER | NO_PAYLOAD | ERROR; NEWER: Redis knows more of it; NO_PAYLOAD: nobody has it
-- Uses: call, apart, keys, now, settings, time, scores, journal, tombstones, changed, gates, leases, fair, noting,
--   slots, crowded, unique, waiting, keeping, letters, ending, transitions
local ARGUMENTS_EACH = 7
local HOLDS = {RUNNING = true, POD = true, CANCELLING = true}

-- Returns why Redis's own data stay, if they do.
local function reason_to_stay(found, m)
    local age = tonumber(found.accepted_at or m.accepted_at) - tonumber(m.accepted_at)
    if age ~= 0 then return age > 0 and 'NEWER' or nil end -- nil: that of an execution which had this id before
    if found.ended_at then return 'ENDED' end
    if not LIVING[m.state] then return nil end
    local ahead = tonumber(found.attempt or 0) - m.attempt
    return (ahead > 0 or (ahead == 0 and (HOLDS[found.state] or not HOLDS[m.state]))) and 'NEWER' or nil
end

local function leave(id, found)
    call('ZREM', K.dead, id)
    if not found.ended_at then
        if HOLDS[found.state] then leave_slot(id, found) else leave_waiting(id, found) end
        call('SREM', D.members(found.lane), id)
        unique.release(id, found)
    end
    call('DEL', D.meta(id), D.ended(id))
end

local function enter(id, m, due)
    call('SADD', D.members(m.lane), id)
    note('used:' .. m.lane)
    changed.touched[m.lane] = true
    if not HOLDS[m.state] then
        count_user(m, 1)
        if m.state == 'SCHEDULED' then return enter_scheduled(id, m, tonumber(due)) end
        next_time(1 + (fair.kind(m.lane) and m.accepted_at or m.score - m.band * BAND_WIDTH_MS)) -- the next ones come later
        return enter_pending(id, m, 'waiting_since', now)
    end
    take_slot(id, m.lane)
    hold(id, gates_of(m))
    for _, gate in ipairs(gates_of(m)) do reindex(gate) end
    local name = m.state == 'RUNNING' and 'lease' or 'pod_lease'
    call('ZADD', K[name], lease_now + setting(name .. '_ttl_ms'), lease_of(id, m))
    call('HSET', D.meta(id), 'granted_at', now)
    if m.state == 'CANCELLING' then call('HSET', D.meta(id), 'cancel', 'CANCELLED', 'cancel_reason', m.reason or '') end
end

local function restore(id, meta, due, dead, event, message, result)
    local m, fields = cjson.decode(meta), {}
    for name, value in pairs(m) do fields[#fields + 1], fields[#fields + 2] = name, value end
    m.band, m.attempt = tonumber(m.band), tonumber(m.attempt or 0)
    local found, lives = load(id) or load_tombstone(id), LIVING[m.state]
    local stays = found and reason_to_stay(found, m)
    if stays then return stays end
    if dead == '1' and now - m.ended_at >= setting('dead_message_ttl_seconds') * 1000 then dead, result = '0', '' end
    if lives or dead == '1' then
        if event ~= '' then call('SET', D.event(id), event) end
        if message ~= '' then call('SET', D.message(id), message) end
        if call('EXISTS', D.event(id), D.message(id)) == 0 then return 'NO_PAYLOAD' end
        if fair.kind(m.lane) then fields[#fields + 1], fields[#fields + 2] = 'time', m.accepted_at end -- its score tells none
    end
    if found then leave(id, found) end
    call('HSET', D.meta(id), unpack(fields))
    if lives then enter(id, m, due) else keep_result(id, result) end
    if dead == '1' then keep_dead(id, m.ended_at) elseif not lives then leave_record(id, m, m.state) end
    if not (lives or dead ~= '' or found) then return 'RESTORED' end -- a mere record of an end changes nothing
    journal('restore', id, m, 'state', m.state, 'reason', m.reason or '', 'dead', dead, 'ended_at', m.ended_at or '')
    if dead == '1' then drop_excess(K.dead) end
    return 'RESTORED'
end

once_if_memory('restore', function(...)
    local given, outcomes = {...}, {}
    keep_apart()
    for i = 1, #given, ARGUMENTS_EACH do
        outcomes[#outcomes + 1] = apart(restore, unpack(given, i, i + ARGUMENTS_EACH - 1)) or 'ERROR'
    end
    return outcomes
end)
