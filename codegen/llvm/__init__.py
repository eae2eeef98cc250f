"""From LLVM IR to machine code in the process, and what is asked of LLVM besides."""
