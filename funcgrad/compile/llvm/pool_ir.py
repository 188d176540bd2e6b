"""The thread pool as LLVM IR: its workers, and the function that runs a kernel with them.

Everything shared is in `@pool`, under its mutex; a job lives in the memory of its caller, who stays
until no worker has it. Text only: it imports target for the name of the processor.
"""

from __future__ import annotations

import signal
import time

from funcgrad.compile.llvm.target import host

__all__ = ["text"]

# Nanoseconds: how often a caller looks for signals, and how long one call of a kernel should take;
# how long a worker without a job looks for one before it sleeps, at least and at most.
_SIGNALS = 50_000_000
_SLICE = 100_000
_SPIN_LEAST = 2_000
_SPIN_MOST = 200_000
_PATIENCE = 500  # spins of a caller whose helpers have a chunk in hand

# What a spinning thread tells the processor.
_PAUSE = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}
_PAUSE["arm64"] = _PAUSE["aarch64"]


def text(stack: int) -> str:
    """The module: it defines funcgrad_reset, run, run_holding, begin and end.

    Workers have stacks of `stack` bytes.
    """
    declare_pause, pause = _PAUSE.get(host().triple.split("-")[0], ("", ""))
    values = {
        "clock": time.CLOCK_MONOTONIC,
        "set_mask": int(signal.SIG_SETMASK),
        "declare_pause": declare_pause,
        "pause": pause,
        "slice": _SLICE,
        "signals": _SIGNALS,
        "spin_least": _SPIN_LEAST,
        "spin_most": _SPIN_MOST,
        "stack": stack,
        "patience": _PATIENCE,
    }
    module = _MODULE
    for name, value in values.items():
        module = module.replace("{" + name + "}", str(value))
    return module


_MODULE = """
; The sizes of the opaque ones are upper bounds over glibc, musl and macOS.
%pool = type { [128 x i8], [128 x i8], [128 x i8], ptr, i64, i64, i64 }
;              mutex       work        done        jobs generation workers idle
%job = type { ptr, ptr, ptr, i64, i64, i64, i64, [64 x i8], i64, [64 x i8] }
;             link kernel arguments chunks share limit active   next

@main = internal global ptr null ; the thread that Python's signal handlers run in
@pool = internal global %pool zeroinitializer, align 64
@funcgrad_threads = external global i64

declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare ptr @pthread_self()
declare i32 @sigfillset(ptr)
declare i32 @clock_gettime(i32, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyErr_CheckSignals()
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
{declare_pause}

; An empty pool: at first, and in the child of a fork, where what others held is held for ever.
define void @funcgrad_reset(ptr %main) #0 {
  store ptr %main, ptr @main
  store %pool zeroinitializer, ptr @pool
  %work = getelementptr %pool, ptr @pool, i64 0, i32 1
  %done = getelementptr %pool, ptr @pool, i64 0, i32 2
  call i32 @pthread_mutex_init(ptr @pool, ptr null)
  call i32 @pthread_cond_init(ptr %work, ptr null)
  call i32 @pthread_cond_init(ptr %done, ptr null)
  ret void
}

define internal i64 @now() #0 {
  %time = alloca [2 x i64]
  call i32 @clock_gettime(i32 {clock}, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}

; Take chunks of %job until none is left, as its thread of this number. How many are taken at once
; doubles while that takes less than a slice, as far as enough is left for the others. Where %saved
; points to the thread state of the main thread, look for signals now and then: -1 means that a
; handler raised.
define internal i32 @take(ptr %job, i64 %thread, ptr %saved) #0 {
entry:
  %kernel.at = getelementptr %job, ptr %job, i64 0, i32 1
  %kernel = load ptr, ptr %kernel.at
  %arguments.at = getelementptr %job, ptr %job, i64 0, i32 2
  %arguments = load ptr, ptr %arguments.at
  %chunks.at = getelementptr %job, ptr %job, i64 0, i32 3
  %chunks = load i64, ptr %chunks.at
  %share.at = getelementptr %job, ptr %job, i64 0, i32 4
  %share = load i64, ptr %share.at
  %next = getelementptr %job, ptr %job, i64 0, i32 8
  %listens = icmp ne ptr %saved, null
  %start = call i64 @now()
  br label %grab
grab:
  %grain = phi i64 [ 1, %entry ], [ %grain.next, %look ], [ %grain.next, %signals ]
  %before = phi i64 [ %start, %entry ], [ %after, %look ], [ %after, %signals ]
  %looked = phi i64 [ %start, %entry ], [ %looked, %look ], [ %after, %signals ]
  %first = atomicrmw add ptr %next, i64 %grain monotonic
  %some = icmp ult i64 %first, %chunks
  br i1 %some, label %call, label %finished
call:
  %end = add i64 %first, %grain
  %last = call i64 @llvm.umin.i64(i64 %end, i64 %chunks)
  call void %kernel(ptr %arguments, i64 %first, i64 %last, i64 %thread)
  %after = call i64 @now()
  %took = sub i64 %after, %before
  %quick = icmp ult i64 %took, {slice}
  %doubled = shl i64 %grain, 1
  %halved = lshr i64 %grain, 1
  %wanted = select i1 %quick, i64 %doubled, i64 %halved
  %left = sub i64 %chunks, %last
  %fair = udiv i64 %left, %share
  %bounded = call i64 @llvm.umin.i64(i64 %wanted, i64 %fair)
  %grain.next = call i64 @llvm.umax.i64(i64 %bounded, i64 1)
  br label %look
look:
  %since = sub i64 %after, %looked
  %long = icmp ugt i64 %since, {signals}
  %due = and i1 %long, %listens
  br i1 %due, label %signals, label %grab
signals:
  %state = load ptr, ptr %saved
  call void @PyEval_RestoreThread(ptr %state)
  %raised = call i32 @PyErr_CheckSignals()
  %again = call ptr @PyEval_SaveThread()
  store ptr %again, ptr %saved
  %stop = icmp ne i32 %raised, 0
  br i1 %stop, label %stopped, label %grab
stopped:
  store atomic i64 %chunks, ptr %next monotonic, align 8
  ret i32 -1
finished:
  ret i32 0
}

; To wake a thread takes 15 to 50 µs, as long as many a job. So a worker looks for the next one
; before it sleeps: for long where that has come soon, and half as long after each time that it has
; not.
define internal ptr @worker(ptr %unused) #0 {
entry:
  %work = getelementptr %pool, ptr @pool, i64 0, i32 1
  %done = getelementptr %pool, ptr @pool, i64 0, i32 2
  %jobs = getelementptr %pool, ptr @pool, i64 0, i32 3
  %generation = getelementptr %pool, ptr @pool, i64 0, i32 4
  %idle = getelementptr %pool, ptr @pool, i64 0, i32 6
  %patience.at = alloca i64
  store i64 {spin_least}, ptr %patience.at
  call i32 @pthread_mutex_lock(ptr @pool)
  br label %search
search:  ; with the lock: a job that has chunks left and wants more helpers
  %head = load ptr, ptr %jobs
  br label %candidate
candidate:
  %job = phi ptr [ %head, %search ], [ %link, %other ]
  %none = icmp eq ptr %job, null
  br i1 %none, label %rest, label %consider
consider:
  %chunks.at = getelementptr %job, ptr %job, i64 0, i32 3
  %limit = getelementptr %job, ptr %job, i64 0, i32 5
  %active = getelementptr %job, ptr %job, i64 0, i32 6
  %next.at = getelementptr %job, ptr %job, i64 0, i32 8
  %chunks = load i64, ptr %chunks.at
  %next = load atomic i64, ptr %next.at monotonic, align 8
  %some = icmp ult i64 %next, %chunks
  %free = load i64, ptr %limit
  %welcome = icmp ugt i64 %free, 0
  %good = and i1 %some, %welcome
  br i1 %good, label %help, label %other
other:
  %link = load ptr, ptr %job
  br label %candidate
help:  ; whoever comes has a number of his own, which is not given again
  %free.less = sub i64 %free, 1
  store i64 %free.less, ptr %limit
  %active.old = load i64, ptr %active
  %active.new = add i64 %active.old, 1
  store atomic i64 %active.new, ptr %active monotonic, align 8
  call i32 @pthread_mutex_unlock(ptr @pool)
  call i32 @take(ptr %job, i64 %free, ptr null)
  call i32 @pthread_mutex_lock(ptr @pool)
  %still = load i64, ptr %active
  %fewer = sub i64 %still, 1
  ; From here on the caller may return, and the job with it.
  store atomic i64 %fewer, ptr %active release, align 8
  %last = icmp eq i64 %fewer, 0
  br i1 %last, label %tell, label %search
tell:
  call i32 @pthread_cond_broadcast(ptr %done)
  br label %search
rest:
  %seen = load i64, ptr %generation
  call i32 @pthread_mutex_unlock(ptr @pool)
  %since = call i64 @now()
  %patience = load i64, ptr %patience.at
  br label %spin
spin:
  %current = load atomic i64, ptr %generation monotonic, align 8
  %new = icmp ne i64 %current, %seen
  br i1 %new, label %awake, label %spin.more
spin.more:
  {pause}
  %clock = call i64 @now()
  %waited = sub i64 %clock, %since
  %enough = icmp ugt i64 %waited, %patience
  br i1 %enough, label %awake, label %spin
awake:
  call i32 @pthread_mutex_lock(ptr @pool)
  %now = load i64, ptr %generation
  %changed = icmp ne i64 %now, %seen
  br i1 %changed, label %search, label %sleep
sleep:
  %idle.old = load i64, ptr %idle
  %idle.more = add i64 %idle.old, 1
  store i64 %idle.more, ptr %idle
  call i32 @pthread_cond_wait(ptr %work, ptr @pool)
  %idle.now = load i64, ptr %idle
  %idle.less = sub i64 %idle.now, 1
  store i64 %idle.less, ptr %idle
  %woken = call i64 @now()
  %slept = sub i64 %woken, %since
  %soon = icmp ult i64 %slept, {spin_most}
  %half = lshr i64 %patience, 1
  %less = call i64 @llvm.umax.i64(i64 %half, i64 {spin_least})
  %next.patience = select i1 %soon, i64 {spin_most}, i64 %less
  store i64 %next.patience, ptr %patience.at
  br label %search
}

; With the lock: have %wanted workers. They block all signals, which are the main thread's.
define internal void @grow(i64 %wanted) #0 {
entry:
  %all = alloca [128 x i8], align 16
  %old = alloca [128 x i8], align 16
  %thread = alloca ptr
  %attributes = alloca [128 x i8], align 16
  %workers = getelementptr %pool, ptr @pool, i64 0, i32 5
  %first = load i64, ptr %workers
  %missing = icmp ult i64 %first, %wanted
  br i1 %missing, label %block, label %out
block:
  call i32 @sigfillset(ptr %all)
  call i32 @pthread_sigmask(i32 {set_mask}, ptr %all, ptr %old)
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {stack})
  br label %more
more:
  %count = load i64, ptr %workers
  %few = icmp ult i64 %count, %wanted
  br i1 %few, label %start, label %restore
start:
  %failed = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @worker, ptr null)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %started, label %restore
started:
  %id = load ptr, ptr %thread
  call i32 @pthread_detach(ptr %id)
  %count.more = add i64 %count, 1
  store i64 %count.more, ptr %workers
  br label %more
restore:
  call i32 @pthread_attr_destroy(ptr %attributes)
  call i32 @pthread_sigmask(i32 {set_mask}, ptr %old, ptr null)
  br label %out
out:
  ret void
}

; Put a job, whose kernel, arguments and chunks are there, on the list, for so many helpers (> 0).
define internal void @publish(ptr %job, i64 %helpers, i64 %share) #0 {
entry:
  %share.at = getelementptr %job, ptr %job, i64 0, i32 4
  store i64 %share, ptr %share.at
  %limit.at = getelementptr %job, ptr %job, i64 0, i32 5
  store i64 %helpers, ptr %limit.at
  %active = getelementptr %job, ptr %job, i64 0, i32 6
  store i64 0, ptr %active
  %next.at = getelementptr %job, ptr %job, i64 0, i32 8
  store i64 0, ptr %next.at
  %work = getelementptr %pool, ptr @pool, i64 0, i32 1
  %jobs = getelementptr %pool, ptr @pool, i64 0, i32 3
  %generation = getelementptr %pool, ptr @pool, i64 0, i32 4
  %idle.at = getelementptr %pool, ptr @pool, i64 0, i32 6
  call i32 @pthread_mutex_lock(ptr @pool)
  call void @grow(i64 %helpers)
  %head = load ptr, ptr %jobs
  store ptr %head, ptr %job
  store ptr %job, ptr %jobs
  %number = load i64, ptr %generation
  %number.next = add i64 %number, 1
  store atomic i64 %number.next, ptr %generation monotonic, align 8
  %idle = load i64, ptr %idle.at
  %wake = call i64 @llvm.umin.i64(i64 %idle, i64 %helpers)
  call i32 @pthread_mutex_unlock(ptr @pool)
  br label %waking
waking:
  %woken = phi i64 [ 0, %entry ], [ %woken.next, %signal ]
  %enough = icmp eq i64 %woken, %wake
  br i1 %enough, label %out, label %signal
signal:
  call i32 @pthread_cond_signal(ptr %work)
  %woken.next = add i64 %woken, 1
  br label %waking
out:
  ret void
}

; Take a job off the list and wait until no worker has it.
define internal void @conclude(ptr %job) #0 {
entry:
  %active = getelementptr %job, ptr %job, i64 0, i32 6
  %done = getelementptr %pool, ptr @pool, i64 0, i32 2
  %jobs = getelementptr %pool, ptr @pool, i64 0, i32 3
  call i32 @pthread_mutex_lock(ptr @pool)
  br label %unlink
unlink:
  %place = phi ptr [ %jobs, %entry ], [ %here, %unlink ]
  %here = load ptr, ptr %place
  %found = icmp eq ptr %here, %job
  br i1 %found, label %remove, label %unlink
remove:
  %link = load ptr, ptr %job
  store ptr %link, ptr %place
  %busy.now = load i64, ptr %active
  call i32 @pthread_mutex_unlock(ptr @pool)
  %quiet = icmp eq i64 %busy.now, 0
  br i1 %quiet, label %finished, label %spin
spin:
  %turn = phi i64 [ 0, %remove ], [ %turn.next, %spin.more ]
  %busy = load atomic i64, ptr %active acquire, align 8
  %over = icmp eq i64 %busy, 0
  br i1 %over, label %finished, label %spin.more
spin.more:
  {pause}
  %turn.next = add i64 %turn, 1
  %tired = icmp eq i64 %turn.next, {patience}
  br i1 %tired, label %sleep, label %spin
sleep:
  call i32 @pthread_mutex_lock(ptr @pool)
  br label %still
still:
  %rest = load i64, ptr %active
  %none = icmp eq i64 %rest, 0
  br i1 %none, label %unlock, label %wait
wait:
  call i32 @pthread_cond_wait(ptr %done, ptr @pool)
  br label %still
unlock:
  call i32 @pthread_mutex_unlock(ptr @pool)
  br label %finished
finished:
  ret void
}

; Run a kernel without the GIL, in %most threads at most, which have the numbers 0, 1 …; %saved
; points to the thread state. 0, or -1 with an exception set.
define i32 @funcgrad_run(ptr %kernel, ptr %arguments, i64 %chunks, i64 %most, ptr %saved) #0 {
entry:
  %job = alloca %job, align 64
  %one = icmp ult i64 %chunks, 2
  br i1 %one, label %single, label %many
single:
  call void %kernel(ptr %arguments, i64 0, i64 %chunks, i64 0)
  ret i32 0
many:
  %main = load ptr, ptr @main
  %self = call ptr @pthread_self()
  %is.main = icmp eq ptr %main, %self
  %state = select i1 %is.main, ptr %saved, ptr null
  %threads = load atomic i64, ptr @funcgrad_threads monotonic, align 8
  %allowed = call i64 @llvm.umin.i64(i64 %threads, i64 %most)
  %useful = call i64 @llvm.umin.i64(i64 %allowed, i64 %chunks)
  %helpers = sub i64 %useful, 1
  %alone = icmp eq i64 %helpers, 0
  call void @fill(ptr %job, ptr %kernel, ptr %arguments, i64 %chunks)
  br i1 %alone, label %serial, label %shared
serial:
  %serial.status = call i32 @take(ptr %job, i64 0, ptr %state)
  ret i32 %serial.status
shared:
  %share = shl i64 %useful, 2
  call void @publish(ptr %job, i64 %helpers, i64 %share)
  %status = call i32 @take(ptr %job, i64 0, ptr %state)
  call void @conclude(ptr %job)
  ret i32 %status
}

; A job for one thread, until it is published.
define internal void @fill(ptr %job, ptr %kernel, ptr %arguments, i64 %chunks) #0 {
  %kernel.at = getelementptr %job, ptr %job, i64 0, i32 1
  store ptr %kernel, ptr %kernel.at
  %arguments.at = getelementptr %job, ptr %job, i64 0, i32 2
  store ptr %arguments, ptr %arguments.at
  %chunks.at = getelementptr %job, ptr %job, i64 0, i32 3
  store i64 %chunks, ptr %chunks.at
  %share.at = getelementptr %job, ptr %job, i64 0, i32 4
  store i64 1, ptr %share.at
  %next.at = getelementptr %job, ptr %job, i64 0, i32 8
  store i64 0, ptr %next.at
  ret void
}

; Have helpers call a kernel, each once, for a caller that has work of its own; %job is memory of
; his, which he may give back after @funcgrad_end.
define void @funcgrad_begin(ptr %job, ptr %kernel, i64 %helpers) #0 {
  call void @fill(ptr %job, ptr %kernel, ptr null, i64 %helpers)
  call void @publish(ptr %job, i64 %helpers, i64 -1)
  ret void
}

; Let no more helpers come and wait for those that have, if the job (zeros at first) was begun. The
; caller does not hold the GIL.
define void @funcgrad_end(ptr %job) #0 {
  %next.at = getelementptr %job, ptr %job, i64 0, i32 8
  %chunks.at = getelementptr %job, ptr %job, i64 0, i32 3
  %chunks = load i64, ptr %chunks.at
  %begun = icmp ne i64 %chunks, 0
  br i1 %begun, label %end, label %out
end:
  store atomic i64 %chunks, ptr %next.at monotonic, align 8
  call void @conclude(ptr %job)
  br label %out
out:
  ret void
}

; The same for a caller that holds the GIL.
define i32 @funcgrad_run_holding(ptr %kernel, ptr %arguments, i64 %chunks, i64 %most) #0 {
  %saved = alloca ptr
  %state = call ptr @PyEval_SaveThread()
  store ptr %state, ptr %saved
  %status = call i32 @funcgrad_run(
    ptr %kernel, ptr %arguments, i64 %chunks, i64 %most, ptr %saved)
  %again = load ptr, ptr %saved
  call void @PyEval_RestoreThread(ptr %again)
  ret i32 %status
}

; Python ends a daemon thread by unwinding its stack, so there are tables for that.
attributes #0 = { uwtable }
"""
