-- A server at maxmemory refuses a script whose first write may need memory. For `park` that is right: nothing of it is
-- kept. What admits, renews or ends executions must pass: it keeps leases alive and gives memory back, or a full server
-- could never drain. So the first write of those is one that needs none.
local function pass_at_maxmemory()
    redis.call('DEL', prefix .. ':nothing')
end
