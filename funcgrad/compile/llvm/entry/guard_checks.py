"""Guards as LLVM IR: whether places in Python's memory still hold what they held.

It answers false without an exception. A `look`, or an attribute, may run code of Python; nothing
else does.
"""

__all__ = ["TEXT"]

TEXT = """
define internal i1 @is.array(ptr %x, ptr %guard) #0 {
entry:
  %dtype = read ptr dtype %x
  %dtype.known = get ptr guard.a %guard
  %dtype.good = icmp eq ptr %dtype, %dtype.known
  %rank = read i32 ndim %x
  %ndim = sext i32 %rank to i64
  %shape.known = get ptr guard.b %guard
  %ndim.known = load i64, ptr %shape.known
  %ndim.good = icmp eq i64 %ndim, %ndim.known
  %flags = read i32 flags %x
  %content = get ptr guard.d %guard  ; null of an array that nobody can write into
  %frozen = icmp eq ptr %content, null
  %mask = select i1 %frozen, i32 {flag.writeable}, i32 {flag.c}
  %expected = select i1 %frozen, i32 0, i32 {flag.c}
  %masked = and i32 %flags, %mask
  %flags.good = icmp eq i32 %masked, %expected
  %data = read ptr data %x
  %data.known = get ptr guard.c %guard
  %data.good = icmp eq ptr %data, %data.known
  %same.kind = and i1 %dtype.good, %ndim.good
  %same.place = and i1 %flags.good, %data.good
  %same = and i1 %same.kind, %same.place
  br i1 %same, label %sizes, label %no
sizes:
  %shape = read ptr shape %x
  br label %size
size:
  %k = phi i64 [ 0, %sizes ], [ %k.next, %compare ]
  %end = icmp eq i64 %k, %ndim
  br i1 %end, label %compared, label %compare
compare:
  %k.next = add i64 %k, 1
  %size.at = getelementptr i64, ptr %shape, i64 %k
  %size.is = load i64, ptr %size.at
  %known.at = getelementptr i64, ptr %shape.known, i64 %k.next
  %size.known = load i64, ptr %known.at
  %size.good = icmp eq i64 %size.is, %size.known
  br i1 %size.good, label %size, label %no
compared:
  br i1 %frozen, label %yes, label %inside
inside:
  %bytes = load i64, ptr %content
  %known = getelementptr i64, ptr %content, i64 1
  %difference = call i32 @memcmp(ptr %data, ptr %known, i64 %bytes)
  %equal = icmp eq i32 %difference, 0
  ret i1 %equal
yes:
  ret i1 true
no:
  ret i1 false
}

; Has %x the %a items in the table %b?
define internal i1 @is.list(ptr %x, ptr %guard) #0 {
entry:
  %count = get i64 guard.a %guard
  %known = get ptr guard.b %guard
  %has = call i64 @PyList_Size(ptr %x)
  %sized = icmp eq i64 %has, %count
  br i1 %sized, label %each, label %no
each:
  %k = phi i64 [ 0, %entry ], [ %k.next, %item ]
  %end = icmp eq i64 %k, %count
  br i1 %end, label %yes, label %item
item:
  %k.next = add i64 %k, 1
  %found = call ptr @PyList_GetItem(ptr %x, i64 %k)
  %known.at = getelementptr ptr, ptr %known, i64 %k
  %expected = load ptr, ptr %known.at
  %same = icmp eq ptr %found, %expected
  br i1 %same, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Has %x the %a keys and values in the tables %b and %c, in their order? Without %c any values do.
define internal i1 @is.dict(ptr %x, ptr %guard) #0 {
entry:
  %place = alloca i64
  %key = alloca ptr
  %value = alloca ptr
  %count = get i64 guard.a %guard
  %keys = get ptr guard.b %guard
  %values.known = get ptr guard.c %guard
  %any = icmp eq ptr %values.known, null
  %values = select i1 %any, ptr %keys, ptr %values.known
  %has = call i64 @PyDict_Size(ptr %x)
  %sized = icmp eq i64 %has, %count
  store i64 0, ptr %place
  br i1 %sized, label %each, label %no
each:
  %k = phi i64 [ 0, %entry ], [ %k.next, %item ]
  %end = icmp eq i64 %k, %count
  br i1 %end, label %yes, label %item
item:
  %k.next = add i64 %k, 1
  %there = call i32 @PyDict_Next(ptr %x, ptr %place, ptr %key, ptr %value)
  %key.is = load ptr, ptr %key
  %value.is = load ptr, ptr %value
  %key.at = getelementptr ptr, ptr %keys, i64 %k
  %key.known = load ptr, ptr %key.at
  %value.at = getelementptr ptr, ptr %values, i64 %k
  %value.known = load ptr, ptr %value.at
  %key.good = icmp eq ptr %key.is, %key.known
  %value.same = icmp eq ptr %value.is, %value.known
  %value.good = or i1 %any, %value.same
  %both = and i1 %key.good, %value.good
  br i1 %both, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i1 @holds(ptr %guard) #0 {
entry:
  %kind = get i64 guard.kind %guard
  %x = get ptr guard.object %guard
  %a = get ptr guard.a %guard
  %b = get ptr guard.b %guard
  %c = get ptr guard.c %guard
  switch i64 %kind, label %look [
    i64 {guard.item}, label %item
    i64 {guard.cell}, label %cell
    i64 {guard.function}, label %function
    i64 {guard.type}, label %type
    i64 {guard.list}, label %list
    i64 {guard.dict}, label %dict
    i64 {guard.array}, label %array
    i64 {guard.attribute}, label %attribute
  ]
item:  ; null for a name that is not there
  %found = call ptr @PyDict_GetItemWithError(ptr %x, ptr %a)
  %item.good = icmp eq ptr %found, %b
  br i1 %item.good, label %yes, label %clear
cell:  ; null for an empty one
  %inside = call ptr @PyCell_Get(ptr %x)
  %cell.good = icmp eq ptr %inside, %a
  %empty = icmp eq ptr %inside, null
  br i1 %empty, label %answer, label %drop
function:
  %code = call ptr @PyFunction_GetCode(ptr %x)
  %defaults = call ptr @PyFunction_GetDefaults(ptr %x)
  %named = call ptr @PyFunction_GetKwDefaults(ptr %x)
  %code.good = icmp eq ptr %code, %a
  %defaults.good = icmp eq ptr %defaults, %b
  %named.good = icmp eq ptr %named, %c
  %defaults.both = and i1 %defaults.good, %named.good
  %function.good = and i1 %code.good, %defaults.both
  br label %answer
type:
  %class = read ptr type %x
  %type.good = icmp eq ptr %class, %a
  br label %answer
attribute:
  %given = call ptr @PyObject_GetAttr(ptr %x, ptr %a)
  %given.good = icmp eq ptr %given, %b
  %without = icmp eq ptr %given, null
  br i1 %without, label %missing, label %drop
missing:
  call void @PyErr_Clear()
  br label %answer
list:
  %list.good = call i1 @is.list(ptr %x, ptr %guard)
  br label %answer
dict:
  %dict.good = call i1 @is.dict(ptr %x, ptr %guard)
  br label %answer
array:
  %array.good = call i1 @is.array(ptr %x, ptr %guard)
  br label %answer
look:
  %seen = call ptr @PyObject_Call(ptr %x, ptr %a, ptr null)
  %look.good = icmp eq ptr %seen, %b
  %raised = icmp eq ptr %seen, null
  br i1 %raised, label %clear, label %drop
drop:
  %owned = phi ptr [ %inside, %cell ], [ %given, %attribute ], [ %seen, %look ]
  %drop.good = phi i1 [ %cell.good, %cell ], [ %given.good, %attribute ], [ %look.good, %look ]
  call void @Py_DecRef(ptr %owned)
  br label %answer
answer:
  %good = phi i1
    [ %cell.good, %cell ],
    [ %function.good, %function ],
    [ %type.good, %type ],
    [ %list.good, %list ],
    [ %dict.good, %dict ],
    [ %array.good, %array ],
    [ %given.good, %missing ],
    [ %drop.good, %drop ]
  ret i1 %good
yes:
  ret i1 true
clear:
  call void @PyErr_Clear()
  ret i1 false
}

; %self is an array: its second and third words are the number of guards and where they are.
define internal i1 @unchanged(ptr %words) #0 {
entry:
  %count.at = getelementptr i64, ptr %words, i64 1
  %count = load i64, ptr %count.at
  %table.at = getelementptr i64, ptr %words, i64 2
  %table = load ptr, ptr %table.at
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k.next, %look ]
  %end = icmp eq i64 %k, %count
  br i1 %end, label %yes, label %look
look:
  %k.next = add i64 %k, 1
  %k.word = mul i64 %k, {size.guard}
  %guard = getelementptr i64, ptr %table, i64 %k.word
  %good = call i1 @holds(ptr %guard)
  br i1 %good, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; METH_FASTCALL | METH_KEYWORDS, called without arguments.
define ptr @funcgrad_unchanged(ptr %self, ptr %args, i64 %count, ptr %names) #0 {
  %words = read ptr data %self
  %good = call i1 @unchanged(ptr %words)
  %answer = select i1 %good, ptr @_Py_TrueStruct, ptr @_Py_FalseStruct
  call void @Py_IncRef(ptr %answer)
  ret ptr %answer
}
"""
