"""Bytes to structs and back: frames, wire structs, the neutral vocabulary. Pure, synchronous, no HTTP, no provider behaviour."""
