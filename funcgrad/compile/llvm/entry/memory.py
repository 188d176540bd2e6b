"""The memory of a call as LLVM IR: workspaces, new arrays, and the arguments of the kernels."""

__all__ = ["TEXT"]

TEXT = """
define internal ptr @take(i64 %slot, i64 %bytes) #0 {
entry:
  %fresh = alloca ptr
  %place = getelementptr ptr, ptr @blocks, i64 %slot
  %kept = atomicrmw xchg ptr %place, ptr null acq_rel
  %some = icmp ne ptr %kept, null
  br i1 %some, label %again, label %new
again:
  %old = atomicrmw sub ptr @held, i64 %bytes monotonic
  ret ptr %kept
new:
  %failed = call i32 @posix_memalign(ptr %fresh, i64 64, i64 %bytes)
  %good = icmp eq i32 %failed, 0
  br i1 %good, label %made, label %none
made:
  %block = load ptr, ptr %fresh
  ret ptr %block
none:
  %unused = call ptr @PyErr_NoMemory()
  ret ptr null
}

define internal void @give(i64 %slot, i64 %bytes, ptr %block) #0 {
entry:
  %before = atomicrmw add ptr @held, i64 %bytes monotonic
  %after = add i64 %before, %bytes
  %much = icmp ugt i64 %after, {held}
  br i1 %much, label %drop, label %keep
keep:
  %place = getelementptr ptr, ptr @blocks, i64 %slot
  %other = atomicrmw xchg ptr %place, ptr %block acq_rel
  %alone = icmp eq ptr %other, null
  br i1 %alone, label %done, label %drop
drop:
  %surplus = phi ptr [ %block, %entry ], [ %other, %keep ]
  %less = atomicrmw sub ptr @held, i64 %bytes monotonic
  call void @free(ptr %surplus)
  br label %done
done:
  ret void
}

; Make the arrays; false with an exception.
define internal i1 @allocate(ptr %plan, ptr %made, ptr %bases) #0 {
entry:
  %buffers = get i64 plan.buffers %plan
  %buffer.0 = get ptr plan.buffer %plan
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k.next, %store ]
  %end = icmp eq i64 %k, %buffers
  br i1 %end, label %yes, label %make
make:
  %k.next = add i64 %k, 1
  %k.word = mul i64 %k, {size.buffer}
  %buffer = getelementptr i64, ptr %buffer.0, i64 %k.word
  %dtype = get ptr buffer.dtype %buffer
  %ndim.wide = get i64 buffer.ndim %buffer
  %ndim = trunc i64 %ndim.wide to i32
  %shape = get ptr buffer.shape %buffer
  %flags.wide = get i64 buffer.flags %buffer
  %flags = trunc i64 %flags.wide to i32
  call void @Py_IncRef(ptr %dtype)
  %x = call ptr @PyArray_NewFromDescr(ptr @ndarray, ptr %dtype, i32 %ndim, ptr %shape,
    ptr null, ptr null, i32 %flags, ptr null)
  %good = icmp ne ptr %x, null
  br i1 %good, label %store, label %no
store:
  %at = getelementptr ptr, ptr %made, i64 %k
  store ptr %x, ptr %at
  %data = read ptr data %x
  %base = getelementptr ptr, ptr %bases, i64 %k
  store ptr %data, ptr %base
  br label %each
yes:
  ret i1 true
no:
  ret i1 false
}

define internal void @fill(ptr %plan, ptr %objects, ptr %bases, ptr %words) #0 {
entry:
  %count = get i64 plan.words %plan
  %bytes = shl i64 %count, 3
  %template = get ptr plan.template %plan
  call void @llvm.memcpy.p0.p0.i64(ptr %words, ptr %template, i64 %bytes, i1 false)
  %patches = get i64 plan.patches %plan
  %patch.0 = get ptr plan.patch %plan
  %strides = get i64 plan.strides %plan
  %stride.0 = get ptr plan.stride %plan
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k.next, %address ]
  %end = icmp eq i64 %k, %patches
  br i1 %end, label %rest, label %address
address:
  %k.next = add i64 %k, 1
  %k.word = mul i64 %k, {size.patch}
  %patch = getelementptr i64, ptr %patch.0, i64 %k.word
  %word = get i64 patch.word %patch
  %base.number = get i64 patch.base %patch
  %offset = get i64 patch.offset %patch
  %base.at = getelementptr i64, ptr %bases, i64 %base.number
  %base = load i64, ptr %base.at
  %value = add i64 %base, %offset
  %at = getelementptr i64, ptr %words, i64 %word
  store i64 %value, ptr %at
  br label %each
rest:
  %s = phi i64 [ 0, %each ], [ %s.next, %stride ]
  %s.end = icmp eq i64 %s, %strides
  br i1 %s.end, label %done, label %stride
stride:
  %s.next = add i64 %s, 1
  %s.word = mul i64 %s, {size.stride}
  %record = getelementptr i64, ptr %stride.0, i64 %s.word
  %s.at = get i64 stride.word %record
  %number = get i64 stride.object %record
  %axis = get i64 stride.axis %record
  %shift = get i64 stride.shift %record
  %x.at = getelementptr ptr, ptr %objects, i64 %number
  %x = load ptr, ptr %x.at
  %table = read ptr strides %x
  %stride.at = getelementptr i64, ptr %table, i64 %axis
  %in.bytes = load i64, ptr %stride.at
  %in.items = ashr i64 %in.bytes, %shift
  %target = getelementptr i64, ptr %words, i64 %s.at
  store i64 %in.items, ptr %target
  br label %rest
done:
  ret void
}
"""
