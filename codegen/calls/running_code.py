"""The machine code that runs kernels, and loops of kernels, by tables of 64-bit words, and looks at what they computed."""

from __future__ import annotations

from eqsat.codegen.shared_loops import PIECES_PER_THREAD

# words of a run: its kernels, the memory of every slot, and what is checked of it
RUN = KERNELS, KERNEL_TABLE, VALUES, CHECKS, CHECK_TABLE, FINITE, FINITE_TABLE = range(7)
# words of a kernel, CODE being a function or a loop, and how it runs
KERNEL = CODE, SLOTS, EXTENT, HOW, WHOLE = range(5)
ALONE, SPLIT, LOOP = range(3)
# words of a loop, of what it carries from one step to the next (the slot that a kernel of the body writes, the slot that is copied, its
# bytes, and memory beside that of the result, null where it stays there), and of what is put into such memory: which carry, the slots of
# values and place, how many blocks of so many bytes each, and of how many places
BODY, COUNT, CARRIES, CARRY_TABLE, STAYS, PUTS, PUT_TABLE = range(7)
CARRY = WRITTEN, COPIED, BYTES, OTHER = range(4)
PUT = PUT_CARRY, PUT_VALUES, PUT_PLACE, PUT_ROWS, PUT_EXTENT, PUT_BYTES = range(6)


def every(why: str, signature: str, setup: str, body: str, guard: str = "true") -> str:
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


_WORDS = """
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
"""

_CHECKS = (
    _finite(32, 0x7F800000)
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
    + every(
        "whether all tensors that have to be finite are",
        "@finite(ptr %run)",
        f"""
  %count = call i64 @number(ptr %run, i64 {FINITE})
  %table = call ptr @word(ptr %run, i64 {FINITE_TABLE})
  %values = call ptr @word(ptr %run, i64 {VALUES})
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
    + every(
        "whether the numbers that a run checks are in their ranges",
        "@within(ptr %run)",
        f"""
  %count = call i64 @number(ptr %run, i64 {CHECKS})
  %table = call ptr @word(ptr %run, i64 {CHECK_TABLE})
  %values = call ptr @word(ptr %run, i64 {VALUES})
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

# a carry is read where the step before wrote it.  Writing goes back and forth between the memory of the result and other memory, so that
# the last step writes the result; what no kernel writes is copied there.  What is changed in its place, or not at all, is copied to the
# result before the first step, and is there
_LOOPS = f"""
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; where a step that so many come after, itself among them, writes a carry
define internal ptr @target(ptr %result, ptr %carry, i64 %left) alwaysinline {{
  %other = call ptr @word(ptr %carry, i64 {OTHER})
  %odd = and i64 %left, 1
  %ends_there = icmp ne i64 %odd, 0
  %only = icmp eq ptr %other, null
  %in_result = or i1 %ends_there, %only
  %place = select i1 %in_result, ptr %result, ptr %other
  ret ptr %place
}}

; values at their place in what is carried; false where that is none
define internal i1 @put(ptr %put, ptr %inside) {{
entry:
  %carry = call i64 @number(ptr %put, i64 {PUT_CARRY})
  %values_slot = call i64 @number(ptr %put, i64 {PUT_VALUES})
  %place_slot = call i64 @number(ptr %put, i64 {PUT_PLACE})
  %rows = call i64 @number(ptr %put, i64 {PUT_ROWS})
  %extent = call i64 @number(ptr %put, i64 {PUT_EXTENT})
  %bytes = call i64 @number(ptr %put, i64 {PUT_BYTES})
  %slot = add i64 %carry, 1
  %memory = call ptr @word(ptr %inside, i64 %slot)
  %values = call ptr @word(ptr %inside, i64 %values_slot)
  %place_at = call ptr @word(ptr %inside, i64 %place_slot)
  %place = load i64, ptr %place_at
  %there = icmp ult i64 %place, %extent
  br i1 %there, label %next, label %nowhere
next:
  %k = phi i64 [ 0, %entry ], [ %k1, %row ]
  %more = icmp slt i64 %k, %rows
  br i1 %more, label %row, label %done
row:
  %k1 = add i64 %k, 1
  %before = mul i64 %k, %extent
  %block = add i64 %before, %place
  %to_offset = mul i64 %block, %bytes
  %from_offset = mul i64 %k, %bytes
  %to = getelementptr i8, ptr %memory, i64 %to_offset
  %from = getelementptr i8, ptr %values, i64 %from_offset
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  br label %next
done:
  ret i1 true
nowhere:
  ret i1 false
}}

; steps first..last-1 of a loop on memory outside; false where what one computed is not as it has to be
define internal i1 @steps(ptr %loop, ptr %outside, ptr %slots, ptr %team, i64 %first, i64 %last) {{
entry:
  %body = call ptr @word(ptr %loop, i64 {BODY})
  %count = call i64 @number(ptr %loop, i64 {COUNT})
  %carries = call i64 @number(ptr %loop, i64 {CARRIES})
  %table = call ptr @word(ptr %loop, i64 {CARRY_TABLE})
  %stays = call i64 @number(ptr %loop, i64 {STAYS})
  %inside = call ptr @word(ptr %body, i64 {VALUES})
  %counter = load ptr, ptr %inside
  %given = add i64 %carries, %stays
  %result_slots = getelementptr i64, ptr %slots, i64 %given
  %puts = call i64 @number(ptr %loop, i64 {PUTS})
  %put_table = call ptr @word(ptr %loop, i64 {PUT_TABLE})
  br label %next_given
next_given:
  %g = phi i64 [ 0, %entry ], [ %g1, %set_given ]
  %more_given = icmp slt i64 %g, %given
  br i1 %more_given, label %set_given, label %next_step
set_given:
  %g1 = add i64 %g, 1
  %given_slot = call i64 @number(ptr %slots, i64 %g)
  %given_memory = call ptr @word(ptr %outside, i64 %given_slot)
  %given_at = getelementptr ptr, ptr %inside, i64 %g1
  store ptr %given_memory, ptr %given_at
  br label %next_given
next_step:
  %t = phi i64 [ %first, %next_given ], [ %t1, %done_copying ]
  %more_steps = icmp slt i64 %t, %last
  br i1 %more_steps, label %step, label %finished
step:
  %t1 = add i64 %t, 1
  store i64 %t, ptr %counter
  %left = sub i64 %count, %t
  %left_before = add i64 %left, 1
  %begins = icmp eq i64 %t, 0
  br label %next_carry
next_carry:
  %c = phi i64 [ 0, %step ], [ %c1, %set_written ]
  %more_carries = icmp slt i64 %c, %carries
  br i1 %more_carries, label %set_carry, label %compute
set_carry:
  %c1 = add i64 %c, 1
  %carry = getelementptr [{len(CARRY)} x i64], ptr %table, i64 %c
  %result_slot = call i64 @number(ptr %result_slots, i64 %c)
  %result = call ptr @word(ptr %outside, i64 %result_slot)
  %written = call i64 @number(ptr %carry, i64 {WRITTEN})
  br i1 %begins, label %look_where, label %set_read
look_where:
  %other = call ptr @word(ptr %carry, i64 {OTHER})
  %in_result = icmp eq ptr %other, null
  br i1 %in_result, label %begin_there, label %set_written
begin_there:
  %first_at = getelementptr ptr, ptr %inside, i64 %c1
  %first_memory = load ptr, ptr %first_at
  %carry_bytes = call i64 @number(ptr %carry, i64 {BYTES})
  call void @llvm.memcpy.p0.p0.i64(ptr %result, ptr %first_memory, i64 %carry_bytes, i1 false)
  br label %set_read
set_read:
  %before = call ptr @target(ptr %result, ptr %carry, i64 %left_before)
  %read_at = getelementptr ptr, ptr %inside, i64 %c1
  store ptr %before, ptr %read_at
  br label %set_written
set_written:
  %now = call ptr @target(ptr %result, ptr %carry, i64 %left)
  %written_at = getelementptr ptr, ptr %inside, i64 %written
  store ptr %now, ptr %written_at
  br label %next_carry
compute:
  %ran = call i1 @run_kernels(ptr %body, ptr %team)
  %are_finite = call i1 @finite(ptr %body)
  %are_within = call i1 @within(ptr %body)
  %both = and i1 %are_finite, %are_within
  %all = and i1 %both, %ran
  br i1 %all, label %next_copy, label %refused
next_copy:
  %d = phi i64 [ 0, %compute ], [ %d1, %copied_it ]
  %more_copies = icmp slt i64 %d, %carries
  br i1 %more_copies, label %look, label %next_put
look:
  %d1 = add i64 %d, 1
  %kept = getelementptr [{len(CARRY)} x i64], ptr %table, i64 %d
  %source = call i64 @number(ptr %kept, i64 {COPIED})
  %none = icmp slt i64 %source, 0
  br i1 %none, label %copied_it, label %copy
copy:
  %goal_slot = call i64 @number(ptr %result_slots, i64 %d)
  %goal = call ptr @word(ptr %outside, i64 %goal_slot)
  %to = call ptr @target(ptr %goal, ptr %kept, i64 %left)
  %from = call ptr @word(ptr %inside, i64 %source)
  %bytes = call i64 @number(ptr %kept, i64 {BYTES})
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  br label %copied_it
copied_it:
  br label %next_copy
next_put:
  %p = phi i64 [ 0, %next_copy ], [ %p1, %put_it ]
  %more_puts = icmp slt i64 %p, %puts
  br i1 %more_puts, label %put_it, label %done_copying
put_it:
  %p1 = add i64 %p, 1
  %put = getelementptr [{len(PUT)} x i64], ptr %put_table, i64 %p
  %was_put = call i1 @put(ptr %put, ptr %inside)
  br i1 %was_put, label %next_put, label %refused
done_copying:
  br label %next_step
finished:
  ret i1 true
refused:
  ret i1 false
}}

; the kernels of a run, one after the other; those worth it by the threads of a pool, where there is one, in so many pieces at most
define internal i1 @run_kernels(ptr %run, ptr %team) {{
entry:
  %pool = call ptr @word(ptr %team, i64 0)
  %hand_out = call ptr @word(ptr %team, i64 1)
  %most = call i64 @number(ptr %team, i64 2)
  %count = call i64 @number(ptr %run, i64 {KERNELS})
  %table = call ptr @word(ptr %run, i64 {KERNEL_TABLE})
  %values = call ptr @word(ptr %run, i64 {VALUES})
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k1, %ran ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %one, label %done
one:
  %k1 = add i64 %k, 1
  %kernel = getelementptr [{len(KERNEL)} x i64], ptr %table, i64 %k
  %code = call ptr @word(ptr %kernel, i64 {CODE})
  %slots = call ptr @word(ptr %kernel, i64 {SLOTS})
  %extent = call i64 @number(ptr %kernel, i64 {EXTENT})
  %how = call i64 @number(ptr %kernel, i64 {HOW})
  switch i64 %how, label %alone [
    i64 {SPLIT}, label %look
    i64 {LOOP}, label %loop
  ]
look:
  %none = icmp eq ptr %pool, null
  br i1 %none, label %alone, label %together
together:
  %threads = udiv i64 %most, {PIECES_PER_THREAD}
  %whole = call i64 @number(ptr %kernel, i64 {WHOLE})
  %of_whole = call i64 @llvm.umin.i64(i64 %most, i64 %whole)
  %left = urem i64 %of_whole, %threads
  %even = icmp eq i64 %left, 0
  %anywhere = icmp eq i64 %whole, %extent
  %kept = or i1 %even, %anywhere
  %of_threads = call i64 @llvm.umin.i64(i64 %threads, i64 %extent)
  %pieces = select i1 %kept, i64 %of_whole, i64 %of_threads
  call void %hand_out(ptr %pool, ptr %code, ptr %values, ptr %slots, i64 %extent, i64 %pieces)
  br label %ran
loop:
  %fine = call i1 @steps(ptr %code, ptr %values, ptr %slots, ptr %team, i64 0, i64 %extent)
  br i1 %fine, label %ran, label %refused
alone:
  call void %code(ptr %values, ptr %slots, i64 0, i64 %extent)
  br label %ran
ran:
  br label %next
done:
  ret i1 true
refused:
  ret i1 false
}}
"""

RUNNING_CODE = _WORDS + _CHECKS + _LOOPS
# a loop by itself; 0 where what a step computed is not as it has to be
LOOP_CODE = (
    RUNNING_CODE
    + """
define i64 @repeat(ptr %loop, ptr %outside, ptr %slots, ptr %team, i64 %first, i64 %last) {
  %fine = call i1 @steps(ptr %loop, ptr %outside, ptr %slots, ptr %team, i64 %first, i64 %last)
  %word = zext i1 %fine to i64
  ret i64 %word
}
"""
)
