"""What calls without Python look at before and after the kernels: where things are in objects, the tables of what is known, and machine
code that checks arguments, results and values.
"""

from __future__ import annotations

from eqsat.codegen.calls.running_code import RUN, RUNNING_CODE, every

HEAD = object.__basicsize__
TYPE = HEAD - 8
# of an ndarray behind the head of every object
DATA, RANK, EXTENTS, DTYPE, FLAGS, HANDLER = HEAD, HEAD + 8, HEAD + 16, HEAD + 40, HEAD + 48, HEAD + 72
CONTIGUOUS, OWNS, ALIGNED, WRITEABLE = 0x1, 0x4, 0x100, 0x400

# words of the first table
ENTRIES, OTHERWISE, NDARRAY, OUT, NEW_ARRAY, *_FUNCTIONS, TEAM, NEW_ALIGNED, MEMORY = range(17)
CALL, NEW_TUPLE, SET_ITEM, GET_ITEM, LENGTH, KEEP, DROP, SAVE, RESTORE = _FUNCTIONS
# words of what is known of one plan, behind those of its run: what it takes, what it makes, and how it runs; BUSY while it runs without
# the GIL
NEXT, INPUTS, INPUT_ARRAYS, *_MADE, LONG, MARKS, BUSY = range(len(RUN), len(RUN) + 10)
OUTPUTS, OUTPUT_ARRAYS, OUTPUT_SLOTS, AS_TUPLE = _MADE


CHECKS_CODE = (
    RUNNING_CODE
    + """
define internal ptr @field(ptr %object, i64 %offset) alwaysinline {
  %p = getelementptr i8, ptr %object, i64 %offset
  %v = load ptr, ptr %p
  ret ptr %v
}
"""
    + every(
        "whether extents are those behind the first three words of a table",
        "@same_extents(ptr %extents, ptr %expected, i64 %count)",
        "",
        """
  %place = add i64 %k, 3
  %found = call i64 @number(ptr %extents, i64 %k)
  %wanted = call i64 @number(ptr %expected, i64 %place)
  %fine = icmp eq i64 %found, %wanted
""",
    )
    + f"""
; whether an object is an ndarray of the dtype and shape of a table (dtype, rank, bytes, extents), with these flags
define internal i1 @fits(ptr %value, ptr %expected, ptr %ndarray, i32 %needed) alwaysinline {{
entry:
  %type = call ptr @field(ptr %value, i64 {TYPE})
  %array = icmp eq ptr %type, %ndarray
  br i1 %array, label %dtype, label %no
dtype:
  %found_dtype = call ptr @field(ptr %value, i64 {DTYPE})
  %expected_dtype = call ptr @word(ptr %expected, i64 0)
  %same_dtype = icmp eq ptr %found_dtype, %expected_dtype
  br i1 %same_dtype, label %layout, label %no
layout:
  %flags_at = getelementptr i8, ptr %value, i64 {FLAGS}
  %flags = load i32, ptr %flags_at
  %set = and i32 %flags, %needed
  %all_set = icmp eq i32 %set, %needed
  br i1 %all_set, label %rank, label %no
rank:
  %rank_at = getelementptr i8, ptr %value, i64 {RANK}
  %found_rank = load i32, ptr %rank_at
  %wide_rank = sext i32 %found_rank to i64
  %expected_rank = call i64 @number(ptr %expected, i64 1)
  %same_rank = icmp eq i64 %wide_rank, %expected_rank
  br i1 %same_rank, label %extents, label %no
extents:
  %extents_at = call ptr @field(ptr %value, i64 {EXTENTS})
  %same = call i1 @same_extents(ptr %extents_at, ptr %expected, i64 %expected_rank)
  ret i1 %same
no:
  ret i1 false
}}

"""
    + every(
        "whether all arguments fit what is known of a plan",
        "@all_fit(ptr %plan, ptr %args, i64 %given, ptr %ndarray)",
        f"""
  %count = call i64 @number(ptr %plan, i64 {INPUTS})
  %tables = call ptr @word(ptr %plan, i64 {INPUT_ARRAYS})
  %as_many = icmp eq i64 %count, %given
""",
        f"""
  %value = call ptr @word(ptr %args, i64 %k)
  %table = call ptr @word(ptr %tables, i64 %k)
  %fine = call i1 @fits(ptr %value, ptr %table, ptr %ndarray, i32 {CONTIGUOUS | ALIGNED})
""",
        guard="%as_many",
    )
    + every(
        "whether the memory of an array is apart from that of all arguments",
        "@apart(ptr %plan, ptr %args, ptr %out)",
        f"""
  %count = call i64 @number(ptr %plan, i64 {INPUTS})
  %tables = call ptr @word(ptr %plan, i64 {INPUT_ARRAYS})
  %out_tables = call ptr @word(ptr %plan, i64 {OUTPUT_ARRAYS})
  %out_table = call ptr @word(ptr %out_tables, i64 0)
  %out_bytes = call i64 @number(ptr %out_table, i64 2)
  %out_at = call ptr @field(ptr %out, i64 {DATA})
  %out_end = getelementptr i8, ptr %out_at, i64 %out_bytes
""",
        f"""
  %value = call ptr @word(ptr %args, i64 %k)
  %table = call ptr @word(ptr %tables, i64 %k)
  %bytes = call i64 @number(ptr %table, i64 2)
  %at = call ptr @field(ptr %value, i64 {DATA})
  %end = getelementptr i8, ptr %at, i64 %bytes
  %before = icmp ule ptr %end, %out_at
  %behind = icmp ule ptr %out_end, %at
  %fine = or i1 %before, %behind
""",
    )
)
