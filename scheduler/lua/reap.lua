-- reap: take back grants whose lease ran out (D5): wait again at the original score, after max_crashes a dead letter.
-- Atomic an execution; repeating it does no harm, so it takes no request token.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: epoch, count
--   epoch   the leader's, '' for a worker's own round
-- Returns: the number looked at | 'STALE_EPOCH'
-- include: keys settings time journal gates lanes waiting ending repair fence memory
local epoch, count = ARGV[1], tonumber(ARGV[2])
if is_fenced(epoch) then return 'STALE_EPOCH' end
pass_at_maxmemory()
local reaped = reap_expired(count)
settle_lanes()
return reaped
