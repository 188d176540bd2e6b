"""The entry point as LLVM IR: it tries plans until one is for the arguments."""

__all__ = ["TEXT"]

TEXT = """
; @missed if the plan is not for these arguments; null with an exception.
define internal ptr @attempt(ptr %plan, ptr %args) #1 {
entry:
  %bytes = get i64 plan.frame %plan
  %frame = alloca i8, i64 %bytes, align 64
  %arguments = get i64 plan.arguments %plan
  %arguments.bytes = shl i64 %arguments, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %frame, ptr %args, i64 %arguments.bytes, i1 false)
  %bases.offset = get i64 plan.at_bases %plan
  %bases = getelementptr i8, ptr %frame, i64 %bases.offset
  %slots.offset = get i64 plan.at_slots %plan
  %slots = getelementptr i8, ptr %frame, i64 %slots.offset
  %matches = call i1 @match(ptr %plan, ptr %frame, ptr %bases, ptr %slots)
  br i1 %matches, label %prepare, label %miss
miss:
  ret ptr @missed
prepare:
  %leaves = get i64 plan.leaves %plan
  %buffers = get i64 plan.buffers %plan
  %first = get i64 plan.first_buffer %plan
  %made = getelementptr ptr, ptr %frame, i64 %first
  %bases.made = getelementptr ptr, ptr %bases, i64 %leaves
  %bases.scratch = getelementptr ptr, ptr %bases.made, i64 %buffers
  %bases.flag = getelementptr ptr, ptr %bases.scratch, i64 1
  %flag.offset = get i64 plan.at_flag %plan
  %flag = getelementptr i8, ptr %frame, i64 %flag.offset
  store i64 0, ptr %flag
  store ptr %flag, ptr %bases.flag
  ; What came out of containers is held, for these may change while we have not the GIL.
  %unpacks = get i64 plan.unpacks %plan
  %nested = icmp ne i64 %unpacks, 0
  %unpacked = sub i64 %first, %arguments
  %holding = select i1 %nested, i64 %unpacked, i64 0
  %inner = getelementptr ptr, ptr %frame, i64 %arguments
  br label %hold
hold:
  %h = phi i64 [ 0, %prepare ], [ %h.next, %hold.one ]
  %h.end = icmp eq i64 %h, %holding
  br i1 %h.end, label %empty, label %hold.one
hold.one:
  %h.next = add i64 %h, 1
  %h.at = getelementptr ptr, ptr %inner, i64 %h
  %h.object = load ptr, ptr %h.at
  call void @Py_IncRef(ptr %h.object)
  br label %hold
empty:
  %e = phi i64 [ 0, %hold ], [ %e.next, %empty.one ]
  %e.end = icmp eq i64 %e, %buffers
  br i1 %e.end, label %workspace, label %empty.one
empty.one:
  %e.next = add i64 %e, 1
  %e.at = getelementptr ptr, ptr %made, i64 %e
  store ptr null, ptr %e.at
  br label %empty
workspace:
  %scratch.offset = get i64 plan.at_scratch %plan
  %on.stack = getelementptr i8, ptr %frame, i64 %scratch.offset
  %heap.slot = get i64 plan.heap_slot %plan
  %heap.bytes = get i64 plan.heap_bytes %plan
  %on.heap = icmp ne i64 %heap.bytes, 0
  br i1 %on.heap, label %heap, label %allocate
heap:
  %block = call ptr @take(i64 %heap.slot, i64 %heap.bytes)
  %have = icmp ne ptr %block, null
  br i1 %have, label %allocate, label %released
allocate:
  %scratch = phi ptr [ %on.stack, %workspace ], [ %block, %heap ]
  store ptr %scratch, ptr %bases.scratch
  %allocated = call i1 @allocate(ptr %plan, ptr %made, ptr %bases.made)
  br i1 %allocated, label %run, label %finish
run:
  %words.offset = get i64 plan.at_words %plan
  %words = getelementptr i8, ptr %scratch, i64 %words.offset
  call void @fill(ptr %plan, ptr %frame, ptr %bases, ptr %words)
  %status = call i32 @kernels(ptr %plan, ptr %words, ptr %flag)
  %ran = icmp eq i32 %status, 0
  br i1 %ran, label %look, label %finish
look:
  %raised = load volatile i64, ptr %flag
  %fine = icmp eq i64 %raised, 0
  br i1 %fine, label %collect, label %finish
collect:
  %stack.offset = get i64 plan.at_stack %plan
  %stack = getelementptr i8, ptr %frame, i64 %stack.offset
  %result = call ptr @result(ptr %plan, ptr %frame, ptr %bases, ptr %stack)
  br label %finish
finish:
  %answer = phi ptr [ null, %allocate ], [ null, %run ], [ @missed, %look ], [ %result, %collect ]
  br i1 %on.heap, label %give, label %released
give:
  call void @give(i64 %heap.slot, i64 %heap.bytes, ptr %scratch)
  br label %released
released:
  %final = phi ptr [ null, %heap ], [ %answer, %finish ], [ %answer, %give ]
  call void @drop(i64 %buffers, ptr %made)
  call void @drop(i64 %holding, ptr %inner)
  ret ptr %final
}

; Has the call the keywords of the plan, in its order? Interned names are one object.
define internal i1 @named(ptr %plan, ptr %names) #0 {
entry:
  %wanted = get i64 plan.names %plan
  %known = get ptr plan.name %plan
  %any = icmp ne ptr %names, null
  br i1 %any, label %count, label %compare
count:
  %size = call i64 @PyTuple_Size(ptr %names)
  br label %compare
compare:
  %has = phi i64 [ 0, %entry ], [ %size, %count ]
  %right = icmp eq i64 %has, %wanted
  br i1 %right, label %each, label %no
each:
  %k = phi i64 [ 0, %compare ], [ %k.next, %name ]
  %end = icmp eq i64 %k, %wanted
  br i1 %end, label %yes, label %name
name:
  %k.next = add i64 %k, 1
  %found = call ptr @PyTuple_GetItem(ptr %names, i64 %k)
  %known.at = getelementptr ptr, ptr %known, i64 %k
  %expected = load ptr, ptr %known.at
  %same = icmp eq ptr %found, %expected
  br i1 %same, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; METH_FASTCALL | METH_KEYWORDS; %self is an array whose first word is the first plan, with the
; guards behind it. After %count arguments come those of the keywords %names.
define ptr @funcgrad_entry(ptr %self, ptr %args, i64 %count, ptr %names) #0 {
entry:
  %chain = read ptr data %self
  %first = load ptr, ptr %chain
  %empty = icmp eq ptr %first, null
  br i1 %empty, label %missed, label %look
look:
  %good = call i1 @unchanged(ptr %chain)
  br i1 %good, label %next, label %missed
next:
  %from = phi ptr [ %chain, %look ], [ %plan, %try ], [ %plan, %consider ], [ %plan, %names.look ]
  %plan = load ptr, ptr %from
  %end = icmp eq ptr %plan, null
  br i1 %end, label %missed, label %consider
consider:
  %positional = get i64 plan.positional %plan
  %right = icmp eq i64 %positional, %count
  br i1 %right, label %names.look, label %next
names.look:
  %fits = call i1 @named(ptr %plan, ptr %names)
  br i1 %fits, label %try, label %next
try:
  %result = call ptr @attempt(ptr %plan, ptr %args)
  %miss = icmp eq ptr %result, @missed
  br i1 %miss, label %next, label %done
done:
  ret ptr %result
missed:
  call void @Py_IncRef(ptr @missed)
  ret ptr @missed
}
"""
