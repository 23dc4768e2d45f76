-- sweep: expire what has waited longer than the stale timeout, one page of one band a call (D19).
-- Atomic an execution; repeating it does no harm, so it takes no request token.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: epoch, band, after, count
--   epoch   the leader's, '' for a worker's own round
--   after   the score that the last page ended with, '' to begin
-- Returns: {expired, after}; after '' when the band is through | 'STALE_EPOCH'
-- include: keys settings time journal gates lanes waiting ending staleness fence
local epoch, band, after, count = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
if is_fenced(epoch) then return 'STALE_EPOCH' end
local expired, last = sweep_band(band, after, count)
settle_lanes()
return {expired, last}
