"""Running the kernels of a plan as LLVM IR, without the GIL where the plan says so."""

__all__ = ["TEXT"]

TEXT = """
; 0, or -1 with an exception.
define internal i32 @kernels(ptr %plan, ptr %words, ptr %flag) #0 {
entry:
  %saved = alloca ptr
  %steps = get i64 plan.steps %plan
  %step.0 = get ptr plan.step %plan
  %release = get i64 plan.release %plan
  %releases = icmp ne i64 %release, 0
  br i1 %releases, label %let.go, label %each
let.go:
  %state = call ptr @PyEval_SaveThread()
  store ptr %state, ptr %saved
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ 0, %let.go ], [ %k.next, %here ], [ %k.next, %threads ]
  %failed = load volatile i64, ptr %flag
  %fine = icmp eq i64 %failed, 0
  %left = icmp ne i64 %k, %steps
  %go = and i1 %fine, %left
  br i1 %go, label %step, label %over
step:
  %k.next = add i64 %k, 1
  %k.word = mul i64 %k, {size.step}
  %record = getelementptr i64, ptr %step.0, i64 %k.word
  %kernel = get ptr step.kernel %record
  %at = get i64 step.at %record
  %chunks = get i64 step.chunks %record
  %parallel = get i64 step.parallel %record
  %arguments = getelementptr i64, ptr %words, i64 %at
  %many = icmp ne i64 %parallel, 0
  br i1 %many, label %threads, label %here
here:
  call void %kernel(ptr %arguments, i64 0, i64 %chunks, i64 0)
  br label %each
threads:
  %raised = call i32 @funcgrad_run(
    ptr %kernel, ptr %arguments, i64 %chunks, i64 %parallel, ptr %saved)
  %stop = icmp ne i32 %raised, 0
  br i1 %stop, label %over, label %each
over:
  %status = phi i32 [ 0, %each ], [ -1, %threads ]
  br i1 %releases, label %take.back, label %done
take.back:
  %again = load ptr, ptr %saved
  call void @PyEval_RestoreThread(ptr %again)
  br label %done
done:
  ret i32 %status
}

; A kernel: copy so many bytes; (to, from, bytes).
define void @funcgrad_copy(ptr %arguments, i64 %first, i64 %last, i64 %thread) #0 {
  %to = load ptr, ptr %arguments
  %from.at = getelementptr ptr, ptr %arguments, i64 1
  %from = load ptr, ptr %from.at
  %bytes.at = getelementptr i64, ptr %arguments, i64 2
  %bytes = load i64, ptr %bytes.at
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret void
}
"""
