-- forget: give back slot and gates of a lease whose execution's record is lost, when nothing runs under it any more.
-- Atomic: slot, gates and payload go together; if there is a record, nothing is changed. Repeating it does no harm.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: lease
--   lease   as it stands in `lease` or `lease:pods`
-- Returns: 1 if it was given back, else 0
-- Uses: call, keys, journal, leases, losses, transitions
transition('forget', function(lease)
    local id = held_under(lease)
    local m = load(id)
    local is_held = call('ZSCORE', K.lease, lease) or call('ZSCORE', K.pod_lease, lease)
    if not is_held or (m and lease == lease_of(id, m)) then return 0 end
    forget_holding(lease, m)
    return 1
end)
