"""The laboratory over foltr: data sets, simulated users, studies; never imported by the device but for `--simulate`."""
