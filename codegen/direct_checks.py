"""What calls without Python look at before and after the kernels: where things are in objects, the tables of what is known, and machine
code that checks arguments, results and values.
"""

from __future__ import annotations

HEAD = object.__basicsize__
TYPE = HEAD - 8
# of an ndarray behind the head of every object
DATA, RANK, EXTENTS, DTYPE, FLAGS = HEAD, HEAD + 8, HEAD + 16, HEAD + 40, HEAD + 48
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400

# words of the first table
ENTRIES, OTHERWISE, NDARRAY, OUT, NEW_ARRAY, *_FUNCTIONS, TEAM, SET_HANDLER, HANDLER, PLACE = range(18)
CALL, NEW_TUPLE, SET_ITEM, GET_ITEM, LENGTH, KEEP, DROP, SAVE, RESTORE = _FUNCTIONS
# words of what is known of one plan: what it takes, what it makes, and how it runs; BUSY while it runs without the GIL
NEXT, INPUTS, INPUT_ARRAYS, *_MADE, KERNELS, KERNEL_TABLE, VALUES, CHECKS, CHECK_TABLE, FINITE, FINITE_TABLE, LONG, MARKS, BUSY = range(17)
OUTPUTS, OUTPUT_ARRAYS, OUTPUT_SLOTS, AS_TUPLE = _MADE


def _every(why: str, signature: str, setup: str, body: str, guard: str = "true") -> str:
    """A function that says whether something holds for all k below %count, which `setup` defines: `body` says so of one k in %fine;
    `guard`: what has to hold besides, before any k."""
    return f"""; {why}
define internal i1 {signature} {{
entry:
{setup.strip(chr(10))}
  br i1 {guard}, label %next, label %no
next:
  %k = phi i64 [ 0, %entry ], [ %k1, %again ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %one, label %yes
one:
  %k1 = add i64 %k, 1
{body.strip(chr(10))}
  br i1 %fine, label %again, label %no
again:
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}}
"""


def _finite(bits: int, exponent: int) -> str:
    """A function that says whether no float of a width, of so many in a row, has all bits of its exponent; it looks at all, in vectors."""
    return f"""
define internal i1 @finite{bits}(ptr %numbers, i64 %count) {{
entry:
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k1, %one ]
  %known = phi i1 [ false, %entry ], [ %now, %one ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %one, label %done
one:
  %k1 = add nuw nsw i64 %k, 1
  %at = getelementptr i{bits}, ptr %numbers, i64 %k
  %bits = load i{bits}, ptr %at
  %exponent = and i{bits} %bits, {exponent}
  %full = icmp eq i{bits} %exponent, {exponent}
  %now = or i1 %known, %full
  br label %next
done:
  %fine = xor i1 %known, true
  ret i1 %fine
}}
"""


CHECKS_CODE = (
    """
define internal ptr @word(ptr %table, i64 %k) alwaysinline {
  %p = getelementptr ptr, ptr %table, i64 %k
  %v = load ptr, ptr %p
  ret ptr %v
}

define internal i64 @number(ptr %table, i64 %k) alwaysinline {
  %p = getelementptr i64, ptr %table, i64 %k
  %v = load i64, ptr %p
  ret i64 %v
}

define internal ptr @field(ptr %object, i64 %offset) alwaysinline {
  %p = getelementptr i8, ptr %object, i64 %offset
  %v = load ptr, ptr %p
  ret ptr %v
}
"""
    + _every(
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
    + _every(
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
    + _every(
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
    + _finite(32, 0x7F800000)
    + _finite(64, 0x7FF0000000000000)
    + """
define internal i1 @are_finite(ptr %numbers, i64 %count, i64 %bytes) {
  %narrow = icmp eq i64 %bytes, 4
  br i1 %narrow, label %of_32, label %of_64
of_32:
  %fine32 = call i1 @finite32(ptr %numbers, i64 %count)
  ret i1 %fine32
of_64:
  %fine64 = call i1 @finite64(ptr %numbers, i64 %count)
  ret i1 %fine64
}
"""
    + _every(
        "whether all tensors that have to be finite are",
        "@finite(ptr %plan)",
        f"""
  %count = call i64 @number(ptr %plan, i64 {FINITE})
  %table = call ptr @word(ptr %plan, i64 {FINITE_TABLE})
  %values = call ptr @word(ptr %plan, i64 {VALUES})
""",
        """
  %check = getelementptr [3 x i64], ptr %table, i64 %k
  %slot = call i64 @number(ptr %check, i64 0)
  %floats = call i64 @number(ptr %check, i64 1)
  %bytes = call i64 @number(ptr %check, i64 2)
  %numbers = call ptr @word(ptr %values, i64 %slot)
  %fine = call i1 @are_finite(ptr %numbers, i64 %floats, i64 %bytes)
""",
    )
    + _every(
        "whether the numbers that a plan checks are in their ranges",
        "@within(ptr %plan)",
        f"""
  %count = call i64 @number(ptr %plan, i64 {CHECKS})
  %table = call ptr @word(ptr %plan, i64 {CHECK_TABLE})
  %values = call ptr @word(ptr %plan, i64 {VALUES})
""",
        """
  %check = getelementptr [3 x i64], ptr %table, i64 %k
  %slot = call i64 @number(ptr %check, i64 0)
  %least = call i64 @number(ptr %check, i64 1)
  %most = call i64 @number(ptr %check, i64 2)
  %found_at = call ptr @word(ptr %values, i64 %slot)
  %found = load i64, ptr %found_at
  %above = icmp sge i64 %found, %least
  %below = icmp sle i64 %found, %most
  %fine = and i1 %above, %below
""",
    )
)
