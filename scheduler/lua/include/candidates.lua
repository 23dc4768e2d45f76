-- The best candidate of a lane: the first of its best ready flow, or of the best flow behind the best gate that has room.
-- Returns its flow and its score. `wanted`: how many the caller will take, 1 if it does not say so.
local function best_candidate(lane, wanted)
    local ready, ready_score = best_ready(lane, wanted)
    if not any_behind then return ready, ready_score end
    local gate, score, flow = best_open(lane)
    if gate and (not ready or tonumber(score) < tonumber(ready_score)) then return flow, score end
    return ready, ready_score
end
