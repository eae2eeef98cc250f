"""What programs cost on a machine, in nanoseconds: tables, prices of pieces, costs of programs and of loop nests."""
