-- schedule: add, change, pause, resume, remove or withdraw a schedule. What is parked of it and not due is taken back.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: name, act, overlap, definition, by
--   act          add (if there is none), put, put_paused, declare, pause, resume, remove or withdraw
--                (a declared one that lives on another server by now)
--   overlap      allow | skip, '' where the schedule itself stays
--   definition   JSON, '' where it stays
--   by           the operator who asks, '' for an application that declares it
-- Returns: {code, before}; code OK | SAME | UNKNOWN | EXISTS | FULL | OWN (an operator's stands, whatever an
--   application says); before is what was kept of it, '' for nothing
-- Uses: call, keys, now, changes, schedules, occurrences, promoting, transitions
local MOST = 10000
local PAUSES = {pause = 'paused', put_paused = 'paused', resume = 'active', put = 'active', add = 'active'}
local BY_APPLICATION = {declare = true, withdraw = true}
local ENDS = {remove = true, withdraw = true}
local KEEPS = {add = 'own', put = 'own', put_paused = 'own', declare = 'declared'}

transition('schedule', function(name, act, overlap, definition, by)
    promote_due(200)
    local before, s = call('HGET', K.schedules, name), schedules.state(name)
    if not before and not KEEPS[act] then return {'UNKNOWN', ''} end
    if before and act == 'add' then return {'EXISTS', before} end
    if before and BY_APPLICATION[act] and s.kept == 'own' then return {'OWN', before} end
    if not before and call('ZCARD', K.schedule_names) >= MOST then return {'FULL', ''} end
    asked_by = by

    local kept, was, overlaps, json = string.match(before or '', '^(%l+) (%l+) (%l+) (.*)$')
    local pauses = PAUSES[act] or was or 'active'
    local after = ENDS[act] and '' or table.concat({KEEPS[act] or kept, pauses,
        definition == '' and overlaps or overlap, definition == '' and json or definition}, ' ')
    if after == before then return {'SAME', before} end
    if not BY_APPLICATION[act] then note_change('schedule', name, before or '', after, by) end

    s = s or {name = name, skipped = 0, runs = {}, planned = {}}
    occurrences.take_back_all(s, ENDS[act] and 'schedule_removed' or 'schedule_changed')
    call('ZREM', K.schedule_times, name)
    if ENDS[act] then
        call('HDEL', K.schedules, name, name .. '\n')
        call('ZREM', K.schedule_names, name)
        return {'OK', before}
    end
    s.cursor, s.problem = now, '-'
    call('HSET', K.schedules, name, after)
    call('ZADD', K.schedule_names, 0, name)
    if pauses == 'active' then call('ZADD', K.schedule_times, now, name) end
    schedules.keep(s, true)
    return {'OK', before or ''}
end)
