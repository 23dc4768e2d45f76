-- bury: keep a refused execution as a dead letter, when there is no caller left to be told (a pipeline's next step, a
-- callback). Atomic; it never waits, holds no slot and counts for nobody's limit.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: caller, number, id, lane, band, action, user, gates, timeout_ms, due_ms, event, message, reason
--   caller number   the request token; the others as in park
--   reason          the refusal's code
-- Returns: 1 if it was kept, 0 if the id is known already
-- include: keys settings time reply journal
local id, lane, band, action, user = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local gates, timeout_ms, due_ms, event, message, reason = ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12], ARGV[13]

local replay = said()
if replay then return replay end

if redis.call('EXISTS', D.meta(id)) == 1 then return answer(0) end
local m = {lane = lane, band = band, action = action, user = user}
redis.call('HSET', D.meta(id), 'state', 'FAILED', 'reason', reason, 'lane', lane, 'band', band, 'action', action,
    'timeout_ms', timeout_ms, 'accepted_at', now, 'ended_at', now)
if user ~= '' then redis.call('HSET', D.meta(id), 'user', user) end
if gates ~= '' then redis.call('HSET', D.meta(id), 'gates', gates) end
if due_ms ~= '' then redis.call('HSET', D.meta(id), 'due', due_ms) end
if event ~= '' then redis.call('SET', D.event(id), event) end
if message ~= '' then redis.call('SET', D.message(id), message) end
redis.call('ZADD', K.dead, now, id)
journal('bury', id, m, 'state', 'FAILED', 'reason', reason, 'dead', 1)
return answer(1)
