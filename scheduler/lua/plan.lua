-- plan: park the next occurrences of a schedule, and note how far it is planned; or run it once now.
-- Atomic: an occurrence is parked and passed in one step, so none is lost or comes twice. Whoever read the schedule before a
-- change of it is refused. A refused occurrence (its lane is full) is tried again in some seconds, until it counts as missed.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, epoch, name, revision, cursor, look, missed, problem, (instant, id, lane, band, action, user, gates, timeout_ms, due_ms, max_age_ms, event, message, lasting, parent, key), …
--   caller number   the request token
--   epoch           the leader's, '' for whoever plans while nobody leads
--   revision        as it was read; '' for a run at once, which passes no occurrence
--   cursor          unix ms of the last occurrence that is dealt with by this
--   look            unix ms when the schedule is to be planned again; '' for never
--   missed          how many occurrences are skipped as missed
--   problem         why there is nothing to plan, a word; '' for none
--   instant         `ms/INSTANT` of the occurrence; the others as in park.lua
-- Returns: {code, reply, …}; code OK | STALE_EPOCH | UNKNOWN | CHANGED; a reply as park.lua gives it, or {'SKIPPED'} if
--   an earlier one lives still and the schedule leaves such out
-- Uses: call, keys, now, schedules, overlaps, occurrences, promoting, parking, fence, transitions
local AGAIN_MS = 5000
local IS_PARKED = {OK = true, DUPLICATE = true}

local function still_scheduled(s)
    local left = {}
    for _, planned in ipairs(s.planned) do
        if call('ZSCORE', K.scheduled, occurrences.id_of(s.name, planned)) then left[#left + 1] = planned end
    end
    return left
end

local function plan_one(s, is_run, instant, id, ...)
    local due = tonumber((select(7, ...))) or 0
    if is_run then
        overlaps.let_go(s, id)
    elseif due <= now and overlaps.skips(s, id) then
        return {'SKIPPED'}
    end
    local reply = parking.park(id, ...)
    if not IS_PARKED[reply[1]] then
        overlaps.hold(s, id)
    elseif due > now then
        s.planned[#s.planned + 1] = instant
    end
    return reply
end

once_if_memory('plan', function(epoch, name, revision, cursor, look, missed, problem, ...)
    if is_fenced(epoch) then return {'STALE_EPOCH'} end
    promote_due(200)
    local s, given, replies, each = schedules.state(name), {...}, {'OK'}, parking.ARGUMENTS_EACH + 1
    if not s then
        call('ZREM', K.schedule_times, name)
        return {'UNKNOWN'}
    end
    local is_run = revision == ''
    if not is_run and (s.is_paused or revision ~= s.revision) then return {'CHANGED'} end
    if not is_run then
        -- The server's clock was ahead: what is parked for that time is planned anew when it comes.
        if tonumber(cursor) < s.cursor then occurrences.take_back_all(s, 'clock_went_back') end
        s.cursor, s.problem, s.skipped = tonumber(cursor), problem == '' and '-' or problem, s.skipped + tonumber(missed)
    end
    s.planned = still_scheduled(s)
    for i = 1, #given, each do
        local reply = plan_one(s, is_run, unpack(given, i, i + each - 1))
        replies[#replies + 1] = reply
        if not is_run and not IS_PARKED[reply[1]] and reply[1] ~= 'SKIPPED' then
            s.cursor, s.problem, look = tonumber(string.match(given[i], '^%d+')) - 1, reply[1], now + AGAIN_MS
            break
        end
    end
    if not is_run then
        if look == '' then call('ZREM', K.schedule_times, name) else call('ZADD', K.schedule_times, look, name) end
    end
    schedules.keep(s, true)
    return replies
end)
