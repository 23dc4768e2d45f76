"""A client of the admin API, for one thread of control or for asyncio; programs import it as `bandmaster.client`."""
