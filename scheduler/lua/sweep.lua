-- sweep: expire what has waited longer than the stale timeout, one page of one band a call (D19).
-- Atomic an execution; repeating it does no harm, so it takes no request token.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: epoch, band, after, count
--   epoch   the leader's, '' for a worker's own round
--   after   the score that the last page ended with, '' to begin
-- Returns: {expired, after}; after '' when the band is through | 'STALE_EPOCH'
led('sweep', function(band, after, count)
    local expired, last = sweep_band(tonumber(band), after, tonumber(count))
    return {expired, last}
end)
