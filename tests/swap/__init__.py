"""The swap: `BandedRedisBroker` in the place of `RedisBroker`, in applications with what applications have."""
