"""The device's side of a federation: what leaves this device, under which protection, and what comes back.

Only `transport` opens a connection, and only when `sync` is asked to; searching never waits for any of this.
"""
