-- The oldest of one band, page by page from a score; what has waited longer than the stale timeout is expired.
-- An execution whose wait began anew (a retry, a pause) keeps its old score, so the page is a candidate list only.
local COUNT_WINDOW_MS = 500000000000

local function sweep_band(band, after, bound)
    local base = band * BAND_WIDTH_MS
    local from = after ~= '' and '(' .. after or exact(base + now - COUNT_WINDOW_MS)
    local to = exact(base + now - setting('stale_timeout_seconds') * 1000)
    local page = call('ZRANGEBYSCORE', K.pending, from, to, 'WITHSCORES', 'LIMIT', 0, bound)
    local expired = 0
    for i = 1, #page, 2 do
        local m = load(page[i])
        if m and m.state == 'PENDING' and is_stale(m) then
            expire(page[i], m)
            expired = expired + 1
        end
    end
    return expired, #page == bound * 2 and page[#page] or ''
end
