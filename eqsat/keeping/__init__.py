"""What outlives a call: values by key in memory, entries on disk, and the keys that say what they depend on."""
