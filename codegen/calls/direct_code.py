"""The machine code of calls without Python: finding the plan, allocating results, running kernels, and the function itself."""

from __future__ import annotations

from eqsat.codegen.calls.direct_checks import (
    ALIGNED,
    AS_TUPLE,
    BUSY,
    CALL,
    CHECKS_CODE,
    CONTIGUOUS,
    DATA,
    DROP,
    ENTRIES,
    GET_ITEM,
    INPUT_ARRAYS,
    INPUTS,
    KEEP,
    LENGTH,
    LONG,
    MARKS,
    MEMORY,
    NDARRAY,
    NEW_ALIGNED,
    NEW_ARRAY,
    NEW_TUPLE,
    NEXT,
    OTHERWISE,
    OUT,
    OUTPUT_ARRAYS,
    OUTPUT_SLOTS,
    OUTPUTS,
    RESTORE,
    SAVE,
    SET_ITEM,
    TEAM,
    WRITEABLE,
)
from eqsat.codegen.calls.running_code import VALUES
from eqsat.codegen.memory.places import FARTHEST, LEAST, PLACES, SLOT

MOST_OUTPUTS = 16
# results of so many bytes and more begin with lines of the cache (codegen/memory/results.py)
LEAST_BYTES = 1 << 10

CODE = (
    CHECKS_CODE
    + f"""
; the first plan that the arguments fit, or null
define internal ptr @find(ptr %head, ptr %args, i64 %given, ptr %ndarray) {{
entry:
  %first = call ptr @word(ptr %head, i64 {ENTRIES})
  br label %next
next:
  %plan = phi ptr [ %first, %entry ], [ %following, %other ]
  %none = icmp eq ptr %plan, null
  br i1 %none, label %done, label %check
check:
  %fits = call i1 @all_fit(ptr %plan, ptr %args, i64 %given, ptr %ndarray)
  br i1 %fits, label %done, label %other
other:
  %following = call ptr @word(ptr %plan, i64 {NEXT})
  br label %next
done:
  ret ptr %plan
}}

@farthest = internal constant [{len(FARTHEST)} x i8] c"{"".join(f"{chr(92)}{place:02x}" for place in FARTHEST)}"

; marks, and that of the place of an array, if it has so many bytes
define internal i64 @marked(i64 %marks, ptr %array, i64 %bytes) alwaysinline {{
  %data = call ptr @field(ptr %array, i64 {DATA})
  %address = ptrtoint ptr %data to i64
  %slot = lshr i64 %address, {(SLOT - 1).bit_length()}
  %place = and i64 %slot, {PLACES - 1}
  %mark = shl i64 1, %place
  %both = or i64 %marks, %mark
  %matters = icmp uge i64 %bytes, {LEAST}
  %found = select i1 %matters, i64 %both, i64 %marks
  ret i64 %found
}}

; marks, and those of the places of so many arrays
define internal i64 @marked_all(i64 %known, ptr %arrays, ptr %tables, i64 %count) {{
entry:
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k1, %one ]
  %marks = phi i64 [ %known, %entry ], [ %more, %one ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %one, label %done
one:
  %k1 = add i64 %k, 1
  %array = call ptr @word(ptr %arrays, i64 %k)
  %table = call ptr @word(ptr %tables, i64 %k)
  %bytes = call i64 @number(ptr %table, i64 2)
  %more = call i64 @marked(i64 %marks, ptr %array, i64 %bytes)
  br label %next
done:
  ret i64 %marks
}}

; where in a page a result begins, apart from all arrays of a call and results before it (codegen/memory/places.py)
define internal i64 @apart_from_all(ptr %plan, ptr %args, ptr %made, i64 %before) {{
  %fixed = call i64 @number(ptr %plan, i64 {MARKS})
  %count = call i64 @number(ptr %plan, i64 {INPUTS})
  %inputs = call ptr @word(ptr %plan, i64 {INPUT_ARRAYS})
  %outputs = call ptr @word(ptr %plan, i64 {OUTPUT_ARRAYS})
  %marks = call i64 @marked_all(i64 %fixed, ptr %args, ptr %inputs, i64 %count)
  %all = call i64 @marked_all(i64 %marks, ptr %made, ptr %outputs, i64 %before)
  %slot_at = getelementptr i8, ptr @farthest, i64 %all
  %slot = load i8, ptr %slot_at
  %wide = zext i8 %slot to i64
  %place = mul i64 %wide, {SLOT}
  ret i64 %place
}}

; a new array for a result behind so many others, in aligned memory if it is not small
define internal ptr @new(ptr %head, ptr %table, ptr %ndarray, ptr %plan, ptr %args, ptr %made, i64 %before_it) {{
entry:
  %dtype = call ptr @word(ptr %table, i64 0)
  %rank = call i64 @number(ptr %table, i64 1)
  %bytes = call i64 @number(ptr %table, i64 2)
  %narrow_rank = trunc i64 %rank to i32
  %extents = getelementptr i64, ptr %table, i64 3
  %new_aligned = call ptr @word(ptr %head, i64 {NEW_ALIGNED})
  %is_small = icmp ult i64 %bytes, {LEAST_BYTES}
  %none = icmp eq ptr %new_aligned, null
  %by_numpy = or i1 %is_small, %none
  br i1 %by_numpy, label %plain, label %aligned
plain:
  %make = call ptr @word(ptr %head, i64 {NEW_ARRAY})
  %keep = call ptr @word(ptr %head, i64 {KEEP})
  call void %keep(ptr %dtype)
  %array = call ptr %make(ptr %ndarray, ptr %dtype, i32 %narrow_rank, ptr %extents, ptr null, ptr null, i32 0, ptr null)
  ret ptr %array
aligned:
  %matters = icmp uge i64 %bytes, {LEAST}
  br i1 %matters, label %look, label %anywhere
look:
  %apart = call i64 @apart_from_all(ptr %plan, ptr %args, ptr %made, i64 %before_it)
  br label %anywhere
anywhere:
  %place = phi i64 [ 0, %aligned ], [ %apart, %look ]
  %memory = call ptr @word(ptr %head, i64 {MEMORY})
  %aligned_array = call ptr %new_aligned(ptr %memory, ptr %dtype, i32 %narrow_rank, ptr %extents, i64 %bytes, i64 %place)
  ret ptr %aligned_array
}}

; the kernels of a plan, without the GIL if they take long; `busy` tells others that its memory is in use
define internal i1 @run(ptr %plan, ptr %head) {{
entry:
  %team = call ptr @word(ptr %head, i64 {TEAM})
  %long = call i64 @number(ptr %plan, i64 {LONG})
  %is_long = icmp ne i64 %long, 0
  br i1 %is_long, label %without, label %with
without:
  %busy_at = getelementptr i64, ptr %plan, i64 {BUSY}
  %save = call ptr @word(ptr %head, i64 {SAVE})
  %restore = call ptr @word(ptr %head, i64 {RESTORE})
  store i64 1, ptr %busy_at
  %state = call ptr %save()
  %fine_without = call i1 @run_kernels(ptr %plan, ptr %team)
  call void %restore(ptr %state)
  store i64 0, ptr %busy_at
  ret i1 %fine_without
with:
  %fine_with = call i1 @run_kernels(ptr %plan, ptr %team)
  ret i1 %fine_with
}}

define ptr @direct(ptr %self, ptr %args, i64 %given, ptr %names) {{
entry:
  %made = alloca [{MOST_OUTPUTS} x ptr]
  %head = call ptr @field(ptr %self, i64 {DATA})
  %ndarray = call ptr @word(ptr %head, i64 {NDARRAY})
  %keep = call ptr @word(ptr %head, i64 {KEEP})
  %drop = call ptr @word(ptr %head, i64 {DROP})
  %positional = icmp eq ptr %names, null
  br i1 %positional, label %search, label %keywords
keywords:
  %length = call ptr @word(ptr %head, i64 {LENGTH})
  %number = call i64 %length(ptr %names)
  %single = icmp eq i64 %number, 1
  br i1 %single, label %keyword, label %otherwise
keyword:
  %get_item = call ptr @word(ptr %head, i64 {GET_ITEM})
  %name = call ptr %get_item(ptr %names, i64 0)
  %expected_name = call ptr @word(ptr %head, i64 {OUT})
  %is_out = icmp eq ptr %name, %expected_name
  br i1 %is_out, label %out, label %otherwise
out:
  %out_given = call ptr @word(ptr %args, i64 %given)
  br label %search
search:
  %target = phi ptr [ null, %entry ], [ %out_given, %out ]
  %plan = call ptr @find(ptr %head, ptr %args, i64 %given, ptr %ndarray)
  %unknown = icmp eq ptr %plan, null
  br i1 %unknown, label %otherwise, label %look
look:
  %busy = call i64 @number(ptr %plan, i64 {BUSY})
  %idle = icmp eq i64 %busy, 0
  br i1 %idle, label %fill, label %otherwise
fill:
  %values = call ptr @word(ptr %plan, i64 {VALUES})
  %results = call i64 @number(ptr %plan, i64 {OUTPUTS})
  %tables = call ptr @word(ptr %plan, i64 {OUTPUT_ARRAYS})
  %slots = call ptr @word(ptr %plan, i64 {OUTPUT_SLOTS})
  %as_tuple = call i64 @number(ptr %plan, i64 {AS_TUPLE})
  br label %outputs
outputs:
  %allocates = icmp eq ptr %target, null
  br i1 %allocates, label %output, label %check_out
check_out:
  %one = icmp eq i64 %results, 1
  br i1 %one, label %check_layout, label %otherwise
check_layout:
  %out_table = call ptr @word(ptr %tables, i64 0)
  %out_fits = call i1 @fits(ptr %target, ptr %out_table, ptr %ndarray, i32 {CONTIGUOUS | ALIGNED | WRITEABLE})
  br i1 %out_fits, label %check_apart, label %otherwise
check_apart:
  %apart = call i1 @apart(ptr %plan, ptr %args, ptr %target)
  br i1 %apart, label %write_out, label %otherwise
write_out:
  call void %keep(ptr %target)
  store ptr %target, ptr %made
  br label %ready
output:
  %o = phi i64 [ 0, %outputs ], [ %o1, %allocated ]
  %more_outputs = icmp slt i64 %o, %results
  br i1 %more_outputs, label %allocate, label %ready
allocate:
  %o1 = add i64 %o, 1
  %table = call ptr @word(ptr %tables, i64 %o)
  %array = call ptr @new(ptr %head, ptr %table, ptr %ndarray, ptr %plan, ptr %args, ptr %made, i64 %o)
  %failed = icmp eq ptr %array, null
  br i1 %failed, label %give_up, label %allocated
allocated:
  %made_at = getelementptr ptr, ptr %made, i64 %o
  store ptr %array, ptr %made_at
  br label %output
give_up:
  %left = phi i64 [ %o, %allocate ], [ %left1, %release ], [ %results, %pack ]
  %any_left = icmp sgt i64 %left, 0
  br i1 %any_left, label %release, label %error
release:
  %left1 = sub i64 %left, 1
  %left_array = call ptr @word(ptr %made, i64 %left1)
  call void %drop(ptr %left_array)
  br label %give_up
error:
  ret ptr null
ready:  ; allocating may have run Python, and that this plan; from here on nothing does until the kernels ran
  %busy_now = call i64 @number(ptr %plan, i64 {BUSY})
  %still_idle = icmp eq i64 %busy_now, 0
  br i1 %still_idle, label %input, label %start_over
input:
  %i = phi i64 [ 0, %ready ], [ %i1, %copy ]
  %more_inputs = icmp slt i64 %i, %given
  br i1 %more_inputs, label %copy, label %result_slot
copy:
  %i1 = add i64 %i, 1
  %argument = call ptr @word(ptr %args, i64 %i)
  %argument_at = call ptr @field(ptr %argument, i64 {DATA})
  %value_at = getelementptr ptr, ptr %values, i64 %i
  store ptr %argument_at, ptr %value_at
  br label %input
result_slot:
  %r = phi i64 [ 0, %input ], [ %r1, %set_slot ]
  %more_results = icmp slt i64 %r, %results
  br i1 %more_results, label %set_slot, label %compute
set_slot:
  %r1 = add i64 %r, 1
  %result_array = call ptr @word(ptr %made, i64 %r)
  %result_at = call ptr @field(ptr %result_array, i64 {DATA})
  %slot = call i64 @number(ptr %slots, i64 %r)
  %slot_at = getelementptr ptr, ptr %values, i64 %slot
  store ptr %result_at, ptr %slot_at
  br label %result_slot
compute:
  %ran = call i1 @run(ptr %plan, ptr %head)
  %are_finite = call i1 @finite(ptr %plan)
  %all_finite = and i1 %ran, %are_finite
  br i1 %all_finite, label %look_at_places, label %start_over
look_at_places:
  %holds = call i1 @within(ptr %plan)
  br i1 %holds, label %hand_out, label %start_over
start_over:
  br label %refuse
refuse:
  %refused = phi i64 [ 0, %start_over ], [ %refused1, %refuse_one ]
  %more_refused = icmp slt i64 %refused, %results
  br i1 %more_refused, label %refuse_one, label %otherwise
refuse_one:
  %refused1 = add i64 %refused, 1
  %refused_array = call ptr @word(ptr %made, i64 %refused)
  call void %drop(ptr %refused_array)
  br label %refuse
hand_out:
  %packed = icmp ne i64 %as_tuple, 0
  br i1 %packed, label %pack, label %alone
alone:
  %result = load ptr, ptr %made
  ret ptr %result
pack:
  %new_tuple = call ptr @word(ptr %head, i64 {NEW_TUPLE})
  %set_item = call ptr @word(ptr %head, i64 {SET_ITEM})
  %tuple = call ptr %new_tuple(i64 %results)
  %no_tuple = icmp eq ptr %tuple, null
  br i1 %no_tuple, label %give_up, label %item
item:
  %t = phi i64 [ 0, %pack ], [ %t1, %set ]
  %more_items = icmp slt i64 %t, %results
  br i1 %more_items, label %set, label %packed_up
set:
  %t1 = add i64 %t, 1
  %part = call ptr @word(ptr %made, i64 %t)
  %status = call i32 %set_item(ptr %tuple, i64 %t, ptr %part)
  br label %item
packed_up:
  ret ptr %tuple
otherwise:
  %handed_on = call ptr @word(ptr %head, i64 {OTHERWISE})
  %python_call = call ptr @word(ptr %head, i64 {CALL})
  %answer = call ptr %python_call(ptr %handed_on, ptr %args, i64 %given, ptr %names)
  ret ptr %answer
}}
"""
)
