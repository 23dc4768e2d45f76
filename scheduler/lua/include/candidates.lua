-- The best candidate of a lane: the first ready execution, or the first behind the best gate that has room. The part of
-- the ready set that was read is cached as long as only its first member is removed.
local ready_heads -- lane → ids and scores in turn; `next`, the next index; `is_all`, whether it is the whole set
at_begin_and_failure(function() ready_heads = emptied(ready_heads) end)

local function add_ready(lane, score, id)
    ready_heads[lane] = nil
    call('ZADD', D.ready(lane), score, id)
end

local function remove_ready(lane, id)
    local head = ready_heads[lane]
    if head and head[head.next] == id then head.next = head.next + 2 else ready_heads[lane] = nil end
    call('ZREM', D.ready(lane), id)
end

-- Returns the first ready execution and its score. `ahead` more are read, for a caller that will want them.
local function first_ready(lane, ahead)
    local head = ready_heads[lane]
    if not head or (not head[head.next] and not head.is_all) then
        head = call('ZRANGE', D.ready(lane), 0, ahead, 'WITHSCORES')
        head.next, head.is_all = 1, #head < 2 * (ahead + 1)
        ready_heads[lane] = head
    end
    return head[head.next], head[head.next + 1]
end

-- Returns the candidate's id, its score, and the gate behind which it waits, if it does.
local function best_candidate(lane, ahead)
    local id, score = first_ready(lane, ahead or 0)
    local open = open_heads[lane] or call('ZRANGE', D.open(lane), 0, 0, 'WITHSCORES')
    open_heads[lane] = open
    if open[1] and (not id or tonumber(open[2]) < tonumber(score)) then
        local waiter = call('ZRANGE', D.waiting(open[1], lane), 0, 0)
        return waiter[1], open[2], open[1]
    end
    return id, score
end
