-- promote: what is due becomes PENDING, scored by its due time.
-- Atomic an execution; repeating it does no harm, so it takes no request token.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: epoch, count
--   epoch   the leader's, '' for a worker's own round
-- Returns: the number promoted | 'STALE_EPOCH'
-- include: keys settings time journal gates lanes waiting ending repair fence
local epoch, count = ARGV[1], tonumber(ARGV[2])
if is_fenced(epoch) then return 'STALE_EPOCH' end
local promoted = promote_due(count)
settle_lanes()
return promoted
